import type { Collection } from '../config/plan.js'
import type { Field } from '../fields/field-type.js'
import { isObject, readOwn } from '../json/own-properties.js'
import type { StoredDocument } from '../storage.js'
import type { JsonObject } from '../types.js'
import type { FixedDocument } from './fix.js'

/**
 * Gives a stored document the values of `fill` that it lacks (CONTRACT.md §1, "Fill"): inside an object only if the object
 * exists, and in each element of an array. `null` counts as a missing value, as it does in queries.
 */
export function fillDocument(
  { fields }: Pick<Collection, 'fields'>,
  document: StoredDocument,
): FixedDocument {
  const filled = new Set<string>()
  return { document: fillObject(fields, document, filled) as StoredDocument, fields: filled }
}

function fillObject(fields: readonly Field[], object: JsonObject, filled: Set<string>): JsonObject {
  const changes = fields.flatMap((field) => {
    const before = readOwn(object, field.name)
    const after = fillValue(field, before, filled)
    return after === before ? [] : [[field.name, after] as const]
  })
  return changes.length === 0 ? object : { ...object, ...Object.fromEntries(changes) }
}

function fillValue(field: Field, value: unknown, filled: Set<string>): unknown {
  const { items, properties } = field
  if (value === undefined || value === null) {
    const { fill } = field.definition
    if (fill === undefined) return value
    filled.add(field.path)
    return fill
  }
  if (items && Array.isArray(value)) {
    const elements = value.map((element) => (element === null ? element : fillValue(items, element, filled)))
    return elements.some((element, i) => element !== value[i]) ? elements : value
  }
  return properties.length > 0 && isObject(value) ? fillObject(properties, value, filled) : value
}
