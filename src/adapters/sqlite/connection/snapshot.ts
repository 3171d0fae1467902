import type { Slice, Sliced } from '../../../core/slices.js'
import type { Connection } from './connection.js'
import { readDataVersion } from './data-version.js'

/** The connection that a read uses. While the read is paused, it can be replaced with another connection. */
export interface Seat {
  connection: Connection
  /**
   * Closes the open iterator, so that the connection can be replaced. The read continues at the same row with a new
   * iterator on the new connection.
   */
  leave?: () => void
}

/** Runs a read in a transaction, so that it sees one snapshot of the file. */
export function* inSnapshot<T>(seat: Seat, work: Sliced<T>): Sliced<T> {
  seat.connection.run('BEGIN', [])
  try {
    return yield* work
  } finally {
    // An error in SQLite may already have ended the transaction.
    if (seat.connection.isInTransaction) seat.connection.run('ROLLBACK', [])
  }
}

/** A read that has begun, and the slice from which it takes its steps. */
export interface BegunRead<T> {
  readonly seat: Seat
  readonly slice: Slice
  readonly work: Sliced<T>
  /** The data version of the file (`readDataVersion`) before the read began. */
  readonly version: unknown
}

/**
 * Moves a paused read to another connection with the same snapshot. Returns false if the file has changed: the snapshot
 * is lost, and the read must start again.
 */
export function moveTo(connection: Connection, { seat, version }: BegunRead<unknown>): boolean {
  const former = seat.connection
  connection.run('BEGIN', [])
  try {
    // With this first read, the transaction takes its snapshot. Until then the former connection holds the old
    // snapshot.
    connection.first('SELECT 1 FROM sqlite_schema', [])
  } catch (thrown) {
    if (connection.isInTransaction) connection.run('ROLLBACK', [])
    throw thrown
  }
  seat.leave?.()
  former.run('ROLLBACK', [])
  if (readDataVersion(former) !== version) {
    connection.run('ROLLBACK', [])
    return false
  }
  seat.connection = connection
  return true
}

/** Continues a read that has begun, with the steps of another slice. */
export function* goOn<T>({ work, slice: own }: BegunRead<T>, slice: Slice): Sliced<T> {
  try {
    for (;;) {
      own.left = slice.left
      const { done, value } = work.next()
      slice.left = own.left
      if (done) return value
      yield
    }
  } finally {
    work.return(undefined as never)
  }
}
