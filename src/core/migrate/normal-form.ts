import type { Collection } from '../config/plan.js'
import type { Field } from '../fields/field-type.js'
import { parseTimestamp } from '../fields/timestamp.js'
import { isObject, readOwn } from '../json/own-properties.js'
import type { StoredDocument } from '../storage.js'
import { describeNames, type StoredName } from '../stored/record/describe-names.js'
import type { JsonObject } from '../types.js'
import type { FixedDocument, Wrong } from './fix.js'

/** The fields of a collection whose texts have a form of their own: `trim`, `lowercase`, timestamps and references. */
export const listForms = (collection: Pick<Collection, 'fields'>): readonly StoredName[] =>
  describeNames(collection).filter(({ field }) => hasForm(field))

const hasForm = ({ type, definition }: Field): boolean =>
  type === 'timestamp' ||
  type === 'reference' ||
  (definition.type === 'string' && (definition.trim === true || definition.lowercase === true))

interface Forming {
  readonly fields: Set<string>
  wrong?: Wrong
}

/**
 * Brings the texts of a stored document into the form in which the service would store them now (CONTRACT.md §1). A text
 * of a timestamp that is not a time is wrong. A value of another type stays as it is.
 */
export function formDocument(
  { fields }: Pick<Collection, 'fields'>,
  document: StoredDocument,
): FixedDocument {
  const forming: Forming = { fields: new Set() }
  const formed = formObject(fields, document, forming) as StoredDocument
  return forming.wrong === undefined ? { document: formed, fields: forming.fields } : { ...forming, document }
}

function formObject(fields: readonly Field[], object: JsonObject, forming: Forming): JsonObject {
  const changes = fields.flatMap((field) => {
    const before = readOwn(object, field.name)
    const after = formValue(field, before, forming)
    return after === before ? [] : [[field.name, after] as const]
  })
  return changes.length === 0 ? object : { ...object, ...Object.fromEntries(changes) }
}

function formValue(field: Field, value: unknown, forming: Forming): unknown {
  const { items, properties, type, path } = field
  if (items && Array.isArray(value)) {
    const elements = value.map((element) => formValue(items, element, forming))
    return elements.some((element, i) => element !== value[i]) ? elements : value
  }
  if (properties.length > 0 && isObject(value)) return formObject(properties, value, forming)
  if (typeof value !== 'string' || !hasForm(field)) return value
  if (type === 'timestamp' && parseTimestamp(value) === undefined) {
    forming.wrong ??= { field: path, reason: 'it is not a time' }
    return value
  }
  const formed = field.normalise(value)
  if (formed !== value) forming.fields.add(path)
  return formed
}
