import type { Fault } from '../../errors.js'
import { isEqualJson } from '../../json/equality.js'
import { isObject, readOwn } from '../../json/own-properties.js'
import { readPointer, toPointerPart } from '../../json/pointer.js'
import type { JsonObject } from '../../types.js'
import type { Field } from '../field-type.js'

/**
 * Whether a fault counts against an update, because it concerns a changed value, a removed required property
 * or a forbidden name. An unchanged stored value may violate the current configuration (CONTRACT.md §2).
 */
export function isChange(
  { path, code }: Fault,
  body: JsonObject,
  before: JsonObject,
  after: JsonObject,
): boolean {
  // The stored value does not count here. Otherwise a caller could guess it, because only the right guess
  // would be accepted.
  if (code === 'unknown_property' || code === 'forbidden_name') return readPointer(body, path) !== undefined
  const parent = path.slice(0, path.lastIndexOf('/'))
  // A new object must contain all its required properties.
  if (code === 'required' && parent !== '' && !isObject(readPointer(before, parent))) return true
  return !isEqualJson(readPointer(before, path), readPointer(after, path))
}

/** Whether a field, or a property inside it, is immutable. */
export const holdsImmutable = ({ definition, properties }: Field): boolean =>
  definition.immutable === true || properties.some(holdsImmutable)

/** Returns a fault for each immutable property whose values in `before` and `after` differ. */
export function findImmutableChanges(
  fields: readonly Field[],
  before: JsonObject,
  after: JsonObject,
  at = '',
): readonly Fault[] {
  return fields.flatMap((field): readonly Fault[] => {
    const path = at + toPointerPart(field.name)
    const [old, present] = [readOwn(before, field.name), readOwn(after, field.name)]
    if (isEqualJson(old, present)) return []
    if (field.definition.immutable) return [immutable(path)]
    const [inside, now] = [old, present].map((value) => (isObject(value) ? value : {}))
    return findImmutableChanges(field.properties, inside ?? {}, now ?? {}, path)
  })
}

/** Creates the fault for an update that changes an immutable property. */
export const immutable = (path: string): Fault => ({
  path,
  code: 'immutable',
  message: 'is immutable: it can only be set when the document is created',
})
