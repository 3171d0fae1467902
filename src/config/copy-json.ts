import type { ConfigFault } from '../errors.js'
import { toPointerPart } from '../schema/names.js'

const MAX_DEPTH = 64

/** A deep, frozen copy of plain JSON. Whatever is none becomes a fault and `null`. */
export function copyJson(value: unknown, path: string, faults: ConfigFault[], depth = 0): unknown {
  const fault = (message: string): null => {
    faults.push({ path, message })
    return null
  }
  if (depth > MAX_DEPTH) return fault(`is nested more than ${MAX_DEPTH} levels deep`)
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value : fault('must be a finite number')
    case 'object':
      break
    default:
      return fault(`must be JSON, found a ${typeof value}; functions belong into the options`)
  }
  if (value === null) return null
  if (Array.isArray(value)) {
    return Object.freeze(
      value.map((element, i) => copyJson(element, path + toPointerPart(i), faults, depth + 1)),
    )
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  // A plain object of another realm has another Object.prototype, whose own prototype is null all the same.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return fault('must be plain JSON')
  const entries = Object.entries(value).flatMap(([name, inner]): [string, unknown][] => {
    const innerPath = path + toPointerPart(name)
    if (inner === undefined) return []
    if (name !== '__proto__') return [[name, copyJson(inner, innerPath, faults, depth + 1)]]
    faults.push({ path: innerPath, message: 'is no name that can be used' })
    return []
  })
  return Object.freeze(Object.fromEntries(entries))
}
