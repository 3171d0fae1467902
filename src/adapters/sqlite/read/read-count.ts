import type { Slice, Sliced } from '../../../slices.js'
import type { Connection } from '../connection/connection.js'
import { inSnapshot } from '../connection/snapshot.js'
import { divide } from './candidates.js'
import { findMatches } from './matches.js'
import type { ReadPath } from './read-path.js'
import { countAllStatement, countStatement } from './read-statements.js'

/** A count, and the way to its documents. */
export interface CountPlan {
  readonly collection: string
  readonly path: ReadPath
}

/** Rows of an index that are counted at once, and documents of a collection, which lie closer: some 5 ms. */
const MAX_ROWS = 100_000
const MAX_DOCUMENTS = 4_000_000

/** A count that a piece of an index answers, by one statement; `undefined` where it is not one, or large. */
export function countDirectly(connection: Connection, { collection, path }: CountPlan): number | undefined {
  if (path.rest.length > 0) return undefined
  const { text, values } = countAllStatement(collection, path, path.index === null ? MAX_DOCUMENTS : MAX_ROWS)
  const count = connection.first(text, values)
  if (count !== null) return Number(count)
  if (path.index === null) return undefined
  const least = countUpTo(connection, collection, path, MAX_ROWS + 1)
  return least > MAX_ROWS ? undefined : least
}

export function countUpTo(connection: Connection, collection: string, path: ReadPath, most: number): number {
  const { text, values } = countStatement(collection, path, most)
  return Number(connection.first(text, values))
}

/** Any count, as the collection is at one moment. */
export const countInSlices = (connection: Connection, plan: CountPlan, slice: Slice): Sliced<number> =>
  inSnapshot(connection, count(connection, plan, slice))

function* count(connection: Connection, { collection, path }: CountPlan, slice: Slice): Sliced<number> {
  const matches = findMatches(connection, collection, path, divide(path.rest), { isCounting: true })
  try {
    let total = 0
    for (;;) {
      const match = matches.next(slice)
      if (match === undefined) return total
      total += typeof match === 'number' ? match : 1
      if (slice.left <= 0) yield
    }
  } finally {
    matches.close()
  }
}
