import type { Slice, Sliced } from '../../../core/slices.js'
import type { Connection } from './connection.js'
import { readDataVersion } from './data-version.js'

/** The connection on which work reads. It can be replaced while the work is paused. */
export interface Seat {
  connection: Connection
  /** Closes open iterators; the work reopens them at the same row on the next connection. */
  leave?: () => void
}

/** Runs work on a snapshot of the file. */
export function* inSnapshot<T>(seat: Seat, work: Sliced<T>): Sliced<T> {
  seat.connection.run('BEGIN', [])
  try {
    return yield* work
  } finally {
    // An error may have ended the transaction.
    if (seat.connection.isInTransaction) seat.connection.run('ROLLBACK', [])
  }
}

/** Work that has begun, and the slice from which it takes its steps. */
export interface BegunRead<T> {
  readonly seat: Seat
  readonly slice: Slice
  readonly work: Sliced<T>
  /** The data version of the file before the work began. */
  readonly version: unknown
}

/**
 * Moves work that paused in a snapshot to another connection, with the same snapshot. False if the file has changed:
 * the work has then lost its snapshot.
 */
export function moveTo(connection: Connection, { seat, version }: BegunRead<unknown>): boolean {
  const former = seat.connection
  connection.run('BEGIN', [])
  try {
    // A snapshot begins with the first read. The former one is held until then.
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

/** Continues work that has begun. */
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
