import type { Fault } from '../errors.js'
import { isObject, readOwn } from '../filter/read-path.js'
import type { JsonObject } from '../types.js'
import type { Field } from './field.js'
import { toPointerPart } from './names.js'

/** Whether two JSON values are the same, whatever the order of their properties. */
export function isEqualJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((element, i) => isEqualJson(element, b[i]))
  }
  if (!isObject(a) || !isObject(b)) return false
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isEqualJson(a[name], b[name]))
  )
}

/** JSON merge patch (RFC 7396): `null` removes, objects are merged, everything else takes the place of what was there. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const merged = new Map(isObject(target) ? Object.entries(target) : [])
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name)
    else merged.set(name, mergePatch(merged.get(name), value))
  }
  return Object.fromEntries(merged)
}

/** The value at a JSON pointer. */
function readPointer(value: unknown, pointer: string): unknown {
  let found = value
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    found = Array.isArray(found) ? found[Number(name)] : isObject(found) ? readOwn(found, name) : undefined
  }
  return found
}

/**
 * Whether an update answers for a fault: of what it changes, of what it removes though required, and of a name that it
 * must not use. What was stored before and stays as it is may break a rule that the configuration has now (contract §2).
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
