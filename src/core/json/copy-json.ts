import { isPlainObject } from './own-properties.js'
import type { ConfigReport } from './report.js'

const MAX_DEPTH = 64

/**
 * Returns a deep, frozen copy of plain JSON. Any other value is reported as a fault and becomes `null`. A
 * property that is `undefined` is omitted, and reported only if `mustBe` requires a value there.
 */
export function copyJson(value: unknown, report: ConfigReport, mustBe: MustBe = nowhere): unknown {
  try {
    return copy(value, { report, mustBe }, [])
  } catch {
    // A getter or a proxy may throw.
    report.fault('cannot be read: it must be plain JSON')
    return null
  }
}

/** Whether the property at a JSON pointer must not be `undefined`, if the object has this property. */
type MustBe = (pointer: string) => boolean

const nowhere: MustBe = () => false

/** The report for the position of a value, and the settings of the whole copy. */
interface CopyContext {
  readonly report: ConfigReport
  readonly mustBe: MustBe
}

/** Copies a value. `outer` contains the objects and arrays around it. */
function copy(value: unknown, { report, mustBe }: CopyContext, outer: readonly object[]): unknown {
  const fault = (message: string): null => {
    report.fault(message)
    return null
  }
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value : fault('must be a finite number')
    case 'object':
      break
    default:
      return fault(`must be JSON, found a ${typeof value}; functions belong in the options`)
  }
  if (value === null) return null
  if (outer.includes(value)) return fault('must be JSON: it contains itself')
  if (outer.length > MAX_DEPTH) return fault(`is nested more than ${MAX_DEPTH} levels deep`)
  const inside = [...outer, value]
  if (Array.isArray(value)) {
    // `Array.from` reads a hole as `undefined`, which is a fault; `map` would skip it.
    const copies = Array.from(value, (element, i) => copy(element, { report: report.at(i), mustBe }, inside))
    return Object.freeze(copies)
  }
  if (!isPlainObject(value)) return fault('must be plain JSON')
  for (const symbol of Object.getOwnPropertySymbols(value))
    fault(`has the key ${String(symbol)}, which is not a string`)
  const entries = Object.entries(value).flatMap(([name, inner]): [string, unknown][] => {
    const own = report.at(name)
    if (inner === undefined) {
      if (mustBe(own.path)) own.fault('is undefined: give it a value, or leave it out')
      return []
    }
    if (name !== '__proto__') return [[name, copy(inner, { report: own, mustBe }, inside)]]
    own.fault('is a forbidden name')
    return []
  })
  return Object.freeze(Object.fromEntries(entries))
}
