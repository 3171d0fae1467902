import { compare, holdsType, type Ordered } from '../../filter/compare.js'
import { compilePath } from '../../filter/read-path.js'
import type { SortKey, StoredDocument } from '../../storage.js'

type Compare = (a: StoredDocument, b: StoredDocument) => number

/** Compiles an order. A value of another type than its field's counts as missing. */
export function compileOrder(sort: readonly SortKey[]): Compare {
  const keys = sort.map(({ field, descending }) => {
    const read = compilePath(field.path)
    const holds = holdsType(field.type)
    const readOrdered = (document: StoredDocument): Ordered => {
      const value = read(document)
      return holds(value) ? (value as Ordered) : undefined
    }
    return { readOrdered, sign: descending ? -1 : 1 }
  })
  return (a, b) => {
    for (const { readOrdered, sign } of keys) {
      const order = compare(readOrdered(a), readOrdered(b))
      if (order !== 0) return order * sign
    }
    return 0
  }
}

/** Up to this many documents are kept in order while others are looked at; beyond, all are sorted at the end. */
const MAX_KEPT = 1000

/** The first `count` documents of an order, of however many. */
export function takeFirst(
  documents: Iterable<StoredDocument>,
  order: Compare,
  count: number,
): readonly StoredDocument[] {
  if (count > MAX_KEPT) return [...documents].sort(order).slice(0, count)
  const kept: StoredDocument[] = []
  for (const document of documents) {
    const last = kept.at(-1)
    if (kept.length === count && last && order(document, last) >= 0) continue
    kept.splice(findPlace(kept, document, order), 0, document)
    if (kept.length > count) kept.pop()
  }
  return kept
}

function findPlace(sorted: readonly StoredDocument[], document: StoredDocument, order: Compare): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const candidate = sorted[middle]
    if (candidate && order(candidate, document) <= 0) low = middle + 1
    else high = middle
  }
  return low
}
