import { isObject, readOwn } from '../../json/own-properties.js'
import { toPointerPart } from '../../json/pointer.js'
import type { JsonObject } from '../../types.js'
import type { Field } from '../field-type.js'

/** A reference in a body or a document. */
export interface Reference {
  /** The JSON pointer of the reference. */
  readonly path: string
  /** The field of the reference. All elements of an array share one field. */
  readonly field: Field
  readonly collection: string
  readonly id: string
}

/** Whether a field is a reference or contains one at any depth. */
export const holdsReference = ({ type, properties, items }: Field): boolean =>
  type === 'reference' || properties.some(holdsReference) || (items !== null && holdsReference(items))

/**
 * Returns every reference in an object. Skips values that are not strings, because the validator rejects
 * them.
 */
export function collectReferences(
  fields: readonly Field[],
  value: JsonObject,
  at = '',
): readonly Reference[] {
  const found: Reference[] = []
  collectInObject(fields, value, at, found)
  return found
}

function collectInObject(fields: readonly Field[], value: JsonObject, at: string, found: Reference[]): void {
  for (const field of fields)
    if (holdsReference(field))
      collectIn(field, readOwn(value, field.name), at + toPointerPart(field.name), found)
}

function collectIn(field: Field, value: unknown, path: string, found: Reference[]): void {
  const { definition, items, properties } = field
  if (definition.type === 'reference') {
    if (typeof value === 'string') found.push({ path, field, collection: definition.collection, id: value })
  } else if (items && Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) collectIn(items, value[i], `${path}/${i}`, found)
  } else if (isObject(value)) collectInObject(properties, value, path, found)
}

/** Returns the references in `after` to documents to which the same field did not refer in `before`. */
export function findNewReferences(
  fields: readonly Field[],
  before: JsonObject,
  after: JsonObject,
): readonly Reference[] {
  const old = new Map<Field, Set<string>>()
  for (const { field, id } of collectReferences(fields, before))
    old.set(field, (old.get(field) ?? new Set()).add(id))
  return collectReferences(fields, after).filter(({ field, id }) => !old.get(field)?.has(id))
}
