import type { ConfigFault } from '../../errors.js'
import { copyJson } from '../../json/copy-json.js'
import { isObject } from '../../json/own-properties.js'
import { reportTo } from '../../json/report.js'
import type { JsonObject } from '../../types.js'

/** What a hook wants done. */
export interface ParsedHookResult {
  /** The properties to put over the document. */
  readonly set: JsonObject | undefined
  /** The operations to do behind the write; they are not judged yet. */
  readonly also: readonly unknown[]
}

const NOTHING: ParsedHookResult = { set: undefined, also: [] }

/** Left out, what the hook sets would stay what the client wrote. */
const isSet = (pointer: string): boolean => pointer.startsWith('/set/')

/** Reads what a hook has returned, into a copy. Throws for anything but `undefined`, and `set` and `also`. */
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
  if (set !== undefined && isDelete) throw new TypeError('set has no place in a delete')
  if (!Array.isArray(also)) throw new TypeError('also must be an array of operations')
  return { set, also }
}
