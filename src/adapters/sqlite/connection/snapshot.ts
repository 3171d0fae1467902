import type { Sliced } from '../../../core/slices.js'
import type { Connection } from './connection.js'

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
