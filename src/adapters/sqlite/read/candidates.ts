import type { Filter } from '../../../filter/filter.js'
import type { Slice } from '../../../slices.js'
import type { Statement } from '../../sql/dialect.js'
import type { Connection } from '../connection/connection.js'
import type { Way } from './read-path.js'
import { type Column, rangeStatement, scanStatement, walkStatement } from './read-statements.js'

/** Documents that may match, one after another. */
export interface Candidates {
  /**
   * The text of the next one, or how many have only been counted, perhaps none, since the slice is used up or a piece of
   * the collection is over; `undefined` at the end.
   */
  next(slice: Slice): string | number | undefined
  close(): void
}

/** Steps that a statement takes for each row, for each condition on it, and for a kilobyte. */
const ROW = 25
const CONDITION = 10
const KILOBYTE = 80

/** Conditions that a statement asks; of more, the core is faster. */
const MAX_CONDITIONS = 8

/** What a condition costs a statement, in conditions on one field; patterns are for the core. */
function weigh(filter: Filter): number {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.filters.reduce((sum, part) => sum + weigh(part), 0)
    case 'not':
      return weigh(filter.filter)
    case 'match':
      return Number.POSITIVE_INFINITY
    case 'present':
    case 'eq':
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
      return filter.field.each ? 3 : 1
    default:
      return filter satisfies never
  }
}

/** Conditions, divided into those that a statement asks and those that the core does. */
interface Division {
  readonly asked: readonly Filter[]
  readonly judged: readonly Filter[]
  readonly weight: number
}

export function divide(conditions: readonly Filter[]): Division {
  const asked: Filter[] = []
  const judged: Filter[] = []
  let weight = 0
  for (const condition of conditions) {
    const more = weigh(condition)
    if (weight + more <= MAX_CONDITIONS) {
      asked.push(condition)
      weight += more
    } else judged.push(condition)
  }
  return { asked, judged, weight }
}

/** Finds the documents on a path that meet what a statement can be asked. */
export function findCandidates(
  connection: Connection,
  { collection, path }: Way,
  { asked, judged, weight }: Division,
  { isCounting }: { readonly isCounting: boolean },
): Candidates {
  const column: Column = isCounting && judged.length === 0 ? 'match' : 'document'
  const cost = ROW + weight * CONDITION
  return path.index === null
    ? scan(connection, collection, scanStatement(collection, asked, column), cost)
    : walk(connection, walkStatement(collection, path, asked, column), cost)
}

/** Steps of a slice that it takes to read so many bytes of documents. */
export const costOf = (bytes: number): number => (bytes / 1024) * KILOBYTE

/** Follows an index, row by row. */
function walk(connection: Connection, { text, values }: Statement, cost: number): Candidates {
  const rows = connection.iterate(text, values)
  return {
    next(slice) {
      let counted = 0
      while (slice.left > 0) {
        const { done, value } = rows.next()
        if (done) return counted > 0 ? counted : undefined
        const isText = typeof value === 'string'
        const size = isText ? value.length : Number(value)
        slice.left -= cost + costOf(Math.abs(size))
        if (isText) return value
        if (size < 0) counted += 1
      }
      return counted
    },
    close: () => void rows.return?.(),
  }
}

/** Documents of a piece of a collection, and their bytes. */
const MIN_ROWS = 32
const MAX_ROWS = 512
const MAX_BYTES = 256 * 1024

/** Goes through a collection as it lies, piece by piece, each of which takes about the same time. */
function scan(
  connection: Connection,
  collection: string,
  { text, values }: Statement,
  cost: number,
): Candidates {
  const range = rangeStatement(collection)
  let place = 0
  let size = MIN_ROWS
  let found: readonly unknown[] = []
  let given = 0

  /** How many documents there are behind the last place, not too many, and where they end. */
  const measure = (): readonly [count: number, end: number, bytes: number] => {
    for (;;) {
      const [count, end, bytes] = connection.row(range, [place, size]).map(Number) as [number, number, number]
      if (count <= 1 || bytes <= MAX_BYTES) return [count, end, bytes]
      size = Math.max(1, Math.min(count - 1, Math.floor((count * MAX_BYTES) / bytes)))
    }
  }
  return {
    next(slice) {
      for (;;) {
        if (given < found.length) {
          const one = found[given++]
          return typeof one === 'string' ? one : Number(one)
        }
        if (slice.left <= 0) return 0
        const [count, end, bytes] = measure()
        if (count === 0) return undefined
        slice.left -= count * cost + costOf(bytes)
        found = connection.all(text, [place, end, ...values])
        given = 0
        place = end
        size = Math.min(MAX_ROWS, size * 2)
      }
    },
    close() {},
  }
}
