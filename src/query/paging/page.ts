import type { Field } from '../../fields/field-type.js'
import type { SortKey } from '../../storage.js'
import type { Limits } from '../../types.js'
import { ConditionFault } from '../condition.js'
import type { RawQuery } from '../raw-query.js'
import type { QueryReading, Readable } from '../reading.js'
import { type Cursor, readCursor } from './cursor.js'

/** The part of a list that a query asks for, and its order. */
export interface Paging {
  readonly sort: readonly SortKey[]
  readonly skip: number
  readonly limit: number | null
  /** The place after which the page begins, instead of `skip`. */
  readonly after: Cursor | null
  /** Whether the query asks for the number of all matches. */
  readonly isTotalAsked: boolean
}

/** The limits of a page. */
export type PageLimits = Pick<Limits, 'defaultLimit' | 'maxLimit'>

/** Reads `sort`, `skip`, `limit`, `after` and `total` (CONTRACT.md §3.6, §3.7). */
export function compilePage(
  raw: RawQuery,
  { find, attempt, readable }: QueryReading,
  idField: Field,
  limits: PageLimits,
): Paging {
  const keys = [...raw.sort].flatMap(([path, direction]): SortKey[] => {
    const parameter = `sort[${path}]`
    const field = find(parameter, path)
    return field ? attempt(parameter, [], () => [compileSort(field, direction, readable)]) : []
  })
  const skip = attempt('skip', 0, () => readWhole(raw.skip) ?? 0)
  const limit = attempt('limit', null, () => readLimit(raw.limit, limits))
  const sort = completeSort(keys, idField)
  const after = attempt('after', null, () => readAfter(raw, sort))
  return { sort, skip, limit, after, isTotalAsked: attempt('total', false, () => readTotal(raw.total)) }
}

const DIRECTIONS: ReadonlyMap<string, boolean> = new Map([
  ['1', false],
  ['asc', false],
  ['-1', true],
  ['desc', true],
])

function compileSort(field: Field, direction: string, readable: Readable): SortKey {
  const descending = DIRECTIONS.get(direction)
  if (descending === undefined) throw new ConditionFault('wrong_direction', 'must be 1, asc, -1 or desc')
  if (!field.ref || !field.fieldType.isScalar) {
    throw new ConditionFault('wrong_operator', `a field of type ${field.type} has no order`)
  }
  if (!readable.isShownAlways(field)) {
    throw new ConditionFault(
      'unknown_field',
      'is not readable in every document that you may read, so you cannot sort by it',
    )
  }
  return { field: field.ref, descending }
}

/** Appends `_id` in the direction of the last key, which makes the order total (CONTRACT.md §3.6). */
function completeSort(keys: readonly SortKey[], idField: Field): readonly SortKey[] {
  const place = keys.findIndex(({ field }) => field.path === idField.path)
  // Keys after `_id` change nothing, since no two ids are equal.
  if (place >= 0) return keys.slice(0, place + 1)
  return idField.ref ? [...keys, { field: idField.ref, descending: keys.at(-1)?.descending ?? false }] : keys
}

function readWhole(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = /^(?:0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(value))
    throw new ConditionFault('out_of_range', 'must be a whole number from 0 to 2^53−1')
  return value
}

/** The limit of a list; `null` for none. Throws `ConditionFault`. */
export function readLimit(text: string | undefined, { defaultLimit, maxLimit }: PageLimits): number | null {
  const limit = readWhole(text) ?? defaultLimit ?? maxLimit
  if (limit !== null && maxLimit !== null && limit > maxLimit) {
    throw new ConditionFault('out_of_range', `must be at most ${maxLimit}`)
  }
  return limit
}

function readAfter({ after, skip }: RawQuery, sort: readonly SortKey[]): Cursor | null {
  if (after === undefined) return null
  if (skip !== undefined) throw new ConditionFault('contradictory', 'cannot be combined with skip')
  return readCursor(sort, after)
}

function readTotal(text: string | undefined): boolean {
  if (text !== undefined && text !== 'true') throw new ConditionFault('malformed', 'must be true')
  return text === 'true'
}
