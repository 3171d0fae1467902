import { isObject } from './own-properties.js'

/** Whether two JSON values are equal. The order of properties is ignored. */
export function isEqualJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false
    for (let i = 0; i < a.length; i++) if (!isEqualJson(a[i], b[i])) return false
    return true
  }
  if (!isObject(a) || !isObject(b)) return false
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isEqualJson(a[name], b[name]))
  )
}
