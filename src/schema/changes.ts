import type { Fault } from '../errors.js'
import type { Field } from '../fields/field-type.js'
import { isEqualJson } from '../json/equality.js'
import { isObject, readOwn } from '../json/own-properties.js'
import { readPointer, toPointerPart } from '../json/pointer.js'
import type { JsonObject } from '../types.js'

/**
 * Whether an update answers for a fault: of what it changes, of what it removes though required, and of a name that it
 * must not use. What was stored before and stays as it is may break a rule that the configuration has now (CONTRACT.md §2).
 */
export function isChange(
  { path, code }: Fault,
  body: JsonObject,
  before: JsonObject,
  after: JsonObject,
): boolean {
  // Else a right guess of what is stored under a name no longer declared would be told from a wrong one.
  if (code === 'unknown_property' || code === 'forbidden_name') return readPointer(body, path) !== undefined
  const parent = path.slice(0, path.lastIndexOf('/'))
  // In an object that is new everything is.
  if (code === 'required' && parent !== '' && !isObject(readPointer(before, parent))) return true
  return !isEqualJson(readPointer(before, path), readPointer(after, path))
}

/** Whether a field is set once, or something inside it. */
export const holdsImmutable = ({ definition, properties }: Field): boolean =>
  definition.immutable === true || properties.some(holdsImmutable)

/** Faults of immutable properties that are another in `after`. */
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

/** An immutable property that an update names, and that is not the present one to its caller. */
export const immutable = (path: string): Fault => ({
  path,
  code: 'immutable',
  message: 'is set when a document is created, and not again',
})
