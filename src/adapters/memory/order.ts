import { compare, type Ordered } from '../../filter/compare.js'
import { compileField } from '../../filter/compile-field.js'
import type { Predicate } from '../../filter/matches.js'
import type { SortKey, StoredDocument } from '../../storage.js'
import type { Row } from './row.js'

/** A document with what it is ordered by. */
interface Keyed {
  readonly document: StoredDocument
  readonly keys: readonly Ordered[]
}

interface Order {
  keysOf(document: StoredDocument): readonly Ordered[]
  compare(a: readonly Ordered[], b: readonly Ordered[]): number
}

/** Compiles an order. A value of another type than its field's counts as missing. */
function compileOrder(sort: readonly SortKey[]): Order {
  const readers = sort.map(({ field }) => compileField(field))
  const signs = sort.map(({ descending }) => (descending ? -1 : 1))
  return {
    keysOf: (document) => readers.map((read) => read(document)),
    compare(a, b) {
      for (let i = 0; i < signs.length; i++) {
        const order = compare(a[i], b[i])
        if (order !== 0) return order * (signs[i] ?? 1)
      }
      return 0
    },
  }
}

/** Up to this many documents are kept in order while others are looked at; beyond, all are sorted at the end. */
const MAX_KEPT = 1000

/** The first `count` of the documents that match, in an order, from however many. */
export function takeSorted(
  rows: Iterable<Row>,
  matches: Predicate,
  sort: readonly SortKey[],
  count: number,
): readonly StoredDocument[] {
  const order = compileOrder(sort)
  const sorted = count > MAX_KEPT ? sortAll(rows, matches, order) : keepFirst(rows, matches, order, count)
  return sorted.slice(0, count).map(({ document }) => document)
}

function sortAll(rows: Iterable<Row>, matches: Predicate, order: Order): readonly Keyed[] {
  const all: Keyed[] = []
  for (const { document } of rows) if (matches(document)) all.push({ document, keys: order.keysOf(document) })
  return all.sort((a, b) => order.compare(a.keys, b.keys))
}

function keepFirst(rows: Iterable<Row>, matches: Predicate, order: Order, count: number): readonly Keyed[] {
  const kept: Keyed[] = []
  for (const { document } of rows) {
    if (!matches(document)) continue
    const keys = order.keysOf(document)
    const last = kept.at(-1)
    if (kept.length >= count && (!last || order.compare(keys, last.keys) >= 0)) continue
    kept.splice(findPlace(kept, keys, order), 0, { document, keys })
    if (kept.length > count) kept.pop()
  }
  return kept
}

/** Where keys belong among sorted ones. */
function findPlace(kept: readonly Keyed[], keys: readonly Ordered[], order: Order): number {
  let low = 0
  let high = kept.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const candidate = kept[middle]
    if (candidate && order.compare(candidate.keys, keys) <= 0) low = middle + 1
    else high = middle
  }
  return low
}
