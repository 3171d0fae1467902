import { bounds } from '../../../bounds.js'
import type { Filter } from '../../../filter/filter.js'
import { type Equalities, joinEqualities } from '../../../filter/join-equalities.js'
import type { Slice } from '../../../slices.js'
import type { Statement } from '../../sql/dialect.js'
import type { Seat } from '../connection/snapshot.js'
import type { CollectionPath, ReadPath } from './read-path.js'
import {
  type Literal,
  type Prefilter,
  rangeStatement,
  type SelectedColumn,
  scanStatement,
  walkStatement,
} from './read-statements.js'

/** Documents that may match, one after another. */
export interface CandidateCursor {
  /**
   * The text of the next document; or a number of documents that were only counted, perhaps zero, when the slice is
   * used up or a piece of the collection ends; `undefined` at the end.
   */
  next(slice: Slice): string | number | undefined
  close(): void
}

/** The steps of a statement per row, per condition on a row, and per kilobyte. */
const ROW = 25
const CONDITION = 10
const KILOBYTE = 80

/** The most conditions in a statement; with more, the core is faster. */
const MAX_CONDITIONS = 8

/** The cost of a condition in a statement, relative to a condition on one field; patterns are left to the core. */
function weigh(filter: Filter | Equalities): number {
  switch (filter.kind) {
    case 'and':
      return weighAll(filter.filters)
    case 'or':
      return weighAll(joinEqualities(filter.filters))
    case 'not':
      return weigh(filter.filter)
    case 'match':
      return Number.POSITIVE_INFINITY
    case 'one of':
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

const weighAll = (filters: readonly (Filter | Equalities)[]): number =>
  filters.reduce((sum, part) => sum + weigh(part), 0)

/** Conditions, divided between the statement and the core. */
interface Division {
  readonly asked: readonly Filter[]
  readonly judged: readonly Filter[]
  readonly weight: number
}

/**
 * Divides conditions between the statement and the core. The core evaluates all conditions from the first one that
 * the statement cannot: a rule that hides documents precedes the caller's conditions, even if it has a pattern.
 */
export function divide(conditions: readonly Filter[]): Division {
  const asked: Filter[] = []
  const judged: Filter[] = []
  let weight = 0
  for (const condition of conditions) {
    const more = weigh(condition)
    if (judged.length === 0 && weight + more <= MAX_CONDITIONS) {
      asked.push(condition)
      weight += more
    } else judged.push(condition)
  }
  return { asked, judged, weight }
}

/**
 * Finds the documents on a path that meet the conditions of the statement. Each range has its own conditions; a
 * document in several ranges can come several times.
 */
export function findCandidates(
  seat: Seat,
  { collection, path }: CollectionPath,
  { isCounting }: { readonly isCounting: boolean },
): CandidateCursor {
  const ranges = path.ranges ?? [path]
  const divisions = new Map(ranges.map((range) => [range, divide(range.rest)]))
  const column: SelectedColumn = isCounting ? 'match' : 'document'
  const weight = Math.max(...[...divisions.values()].map(({ weight }) => weight))
  const cost = ROW + weight * CONDITION
  const askedOf = (range: ReadPath): Prefilter => {
    const { asked, judged } = divisions.get(range) ?? divide(range.rest)
    return { conditions: asked, literal: literalOf(judged[0]) }
  }
  return path.index === null
    ? scan(seat, collection, scanStatement(collection, divide(path.rest).asked, column), cost)
    : walk(seat, walkStatement(collection, path, askedOf, column), cost)
}

/** The text that a pattern requires in a field; the core evaluates the whole pattern afterwards. */
function literalOf(filter: Filter | undefined): Literal | undefined {
  if (filter?.kind !== 'match' || filter.field.each || filter.field.type !== 'string') return undefined
  const parts = filter.pattern.kind === 'sequence' ? filter.pattern.parts : [filter.pattern]
  const texts = parts.flatMap((part) => (part.kind === 'text' ? part.text : []))
  const [longest] = texts.toSorted((a, b) => b.length - a.length)
  // Half a surrogate pair is another character in UTF-8.
  return longest === undefined || /[\p{Surrogate}\0]/u.test(longest) || longest === ''
    ? undefined
    : { field: filter.field, text: longest }
}

/** The steps of reading this many bytes of documents. */
export const costOf = (bytes: number): number => (bytes / 1024) * KILOBYTE

/** Follows an index, row by row. */
function walk(seat: Seat, { text, values }: Statement, cost: number): CandidateCursor {
  let passed = 0
  let rows: IterableIterator<unknown> | undefined
  // On another connection with the same snapshot, the rows are the same, in the same order.
  const open = (): IterableIterator<unknown> =>
    passed === 0
      ? seat.connection.iterate(text, values)
      : seat.connection.iterate(`${text} LIMIT -1 OFFSET ? + 0`, [...values, passed])
  const close = (): void => {
    rows?.return?.()
    rows = undefined
  }
  seat.leave = close
  return {
    next(slice) {
      let counted = 0
      while (slice.left > 0) {
        rows ??= open()
        const { done, value } = rows.next()
        if (done) return counted > 0 ? counted : undefined
        passed += 1
        const isText = typeof value === 'string'
        const size = isText ? value.length : Number(value)
        slice.left -= cost + costOf(Math.abs(size))
        if (isText) return value
        if (size < 0) counted += 1
      }
      return counted
    },
    close,
  }
}

/** The number of documents in a piece of a collection. */
const MIN_ROWS = 32
const MAX_ROWS = 512

/** Scans a collection in its stored order, in pieces that take about the same time. */
function scan(seat: Seat, collection: string, { text, values }: Statement, cost: number): CandidateCursor {
  const range = rangeStatement(collection)
  let place = 0
  let size = MIN_ROWS
  let found: readonly unknown[] = []
  let given = 0

  /** The number of documents in the next piece, its last place, and its bytes. */
  const measure = (): readonly [count: number, end: number, bytes: number] => {
    for (;;) {
      const [count, end, bytes] = seat.connection.row(range, [place, size]).map(Number) as [
        number,
        number,
        number,
      ]
      if (count <= 1 || bytes <= bounds.scannedBytes) return [count, end, bytes]
      size = Math.max(1, Math.min(count - 1, Math.floor((count * bounds.scannedBytes) / bytes)))
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
        found = seat.connection.all(text, [place, end, ...values])
        given = 0
        place = end
        size = Math.min(MAX_ROWS, size * 2)
      }
    },
    close() {},
  }
}
