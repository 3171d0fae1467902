import { isObject, readOwn } from '../filter/read-path.js'
import type { JsonObject } from '../types.js'
import type { Field } from './field.js'
import { toPointerPart } from './names.js'

/** A reference that stands in a body or a document. */
export interface Reference {
  /** JSON pointer. */
  readonly path: string
  /** The field: the same for all elements of an array. */
  readonly field: Field
  readonly collection: string
  readonly id: string
}

/** Whether a field is a reference, or holds one somewhere. */
export const holdsReference = ({ type, properties, items }: Field): boolean =>
  type === 'reference' || properties.some(holdsReference) || (items !== null && holdsReference(items))

/** Every reference in an object; what is no text is for validation to refuse. */
export const collectReferences = (
  fields: readonly Field[],
  value: JsonObject,
  at = '',
): readonly Reference[] =>
  fields.flatMap((field) => referencesIn(field, readOwn(value, field.name), at + toPointerPart(field.name)))

function referencesIn(field: Field, value: unknown, path: string): readonly Reference[] {
  const { definition, items, properties } = field
  if (definition.type === 'reference') {
    return typeof value === 'string' ? [{ path, field, collection: definition.collection, id: value }] : []
  }
  if (properties.length > 0 && isObject(value)) return collectReferences(properties, value, path)
  if (!items || !Array.isArray(value) || !holdsReference(items)) return []
  return value.flatMap((element, i) => referencesIn(items, element, path + toPointerPart(i)))
}

/** The references that were not in the same field before. */
export function findNewReferences(
  fields: readonly Field[],
  before: JsonObject,
  after: JsonObject,
): readonly Reference[] {
  const old = new Map<Field, Set<string>>()
  for (const { field, id } of collectReferences(fields, before)) {
    const ids = old.get(field)
    if (ids) ids.add(id)
    else old.set(field, new Set([id]))
  }
  return collectReferences(fields, after).filter(({ field, id }) => !old.get(field)?.has(id))
}
