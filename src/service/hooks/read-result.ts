import type { ConfigFault } from '../../errors.js'
import { copyJson } from '../../json/copy-json.js'
import { isObject } from '../../json/own-properties.js'
import { reportTo } from '../../json/report.js'
import type { JsonObject } from '../../types.js'

/** The parsed result of a hook. */
export interface ParsedHookResult {
  /** The properties to merge into the document. */
  readonly set: JsonObject | undefined
  /** The operations to run after the write; not validated yet. */
  readonly also: readonly unknown[]
}

const NOTHING: ParsedHookResult = { set: undefined, also: [] }

/** A dropped value in `set` would leave the client's value in place, so it is an error. */
const isSet = (pointer: string): boolean => pointer.startsWith('/set/')

/** Reads the result of a hook into a copy. Throws for any value except `undefined` or an object of `set` and `also`. */
export function readResult(result: unknown, isDelete: boolean): ParsedHookResult {
  if (result === undefined) return NOTHING
  const faults: ConfigFault[] = []
  const copy = copyJson(result, reportTo(faults), isSet)
  const [fault] = faults
  if (fault) throw new TypeError(`it must return JSON: ${fault.path} ${fault.message}`)
  if (!isObject(copy)) throw new TypeError('it must return nothing, or an object with set and also')
  const { set, also = [], ...others } = copy
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw new TypeError(`it returns ${JSON.stringify(unknown)}; allowed: set, also`)
  if (set !== undefined && !isObject(set)) throw new TypeError('set must be an object')
  if (set !== undefined && isDelete) throw new TypeError('set is not allowed in a delete')
  if (!Array.isArray(also)) throw new TypeError('also must be an array of operations')
  return { set, also }
}
