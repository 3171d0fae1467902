import type { Slice, Sliced } from '../../../slices.js'
import type { Connection } from '../connection/connection.js'
import { inSnapshot, type Seat } from '../connection/snapshot.js'
import { divide } from './candidates.js'
import { findMatches } from './matches.js'
import { type CollectionPath, MAX_BOUNDED } from './read-path.js'
import { countAllStatement, countCoveredStatement, countStatement, isCovered } from './read-statements.js'

/**
 * The most index rows, and documents of a collection, which are stored more densely, that are counted at once: about
 * 10 ms.
 */
const MAX_ROWS = 200_000
const MAX_DOCUMENTS = 4_000_000

/** Counts by one statement over a range of an index; `undefined` if there is none, or it is large. */
export function countDirectly(
  connection: Connection,
  { collection, path }: CollectionPath,
): number | undefined {
  if (path.rest.length > 0) return countCovered(connection, { collection, path })
  if (
    path.isOverlapping &&
    (path.counted ?? countUpTo(connection, { collection, path }, MAX_BOUNDED + 1)) > MAX_BOUNDED
  )
    return undefined
  const most = path.index === null ? MAX_DOCUMENTS : MAX_ROWS
  const { text, values } = countAllStatement(collection, path, most)
  const all = connection.first(text, values)
  if (all !== null) return Number(all)
  if (path.index === null) return undefined
  const least = countUpTo(connection, { collection, path }, MAX_ROWS + 1)
  return least > MAX_ROWS ? undefined : least
}

/**
 * Counts the documents of a range whose index has all fields of its other conditions; `undefined` if the range is
 * long.
 */
function countCovered(connection: Connection, { collection, path }: CollectionPath): number | undefined {
  const { asked, judged } = divide(path.rest)
  if (path.index === null || path.ranges || judged.length > 0 || !isCovered(path, asked)) return undefined
  const { text, values } = countCoveredStatement(collection, path, asked, MAX_BOUNDED)
  const counted = connection.first(text, values)
  return counted === undefined ? undefined : Number(counted)
}

/** Counts the documents on a path, up to `most`. */
export function countUpTo(
  connection: Connection,
  { collection, path }: CollectionPath,
  most: number,
): number {
  const { text, values } = countStatement(collection, path, most)
  return Number(connection.first(text, values))
}

/** Counts in slices, on a snapshot of the collection. */
export const countInSlices = (seat: Seat, way: CollectionPath, slice: Slice): Sliced<number> =>
  inSnapshot(seat, count(seat, way, slice))

function* count(seat: Seat, way: CollectionPath, slice: Slice): Sliced<number> {
  const matches = findMatches(seat, way, { isCounting: true })
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
