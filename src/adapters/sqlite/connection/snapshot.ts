import type { Sliced } from '../../../slices.js'
import type { Connection } from './connection.js'

/** Runs work on a snapshot of the file. */
export function* inSnapshot<T>(connection: Connection, work: Sliced<T>): Sliced<T> {
  connection.run('BEGIN', [])
  try {
    return yield* work
  } finally {
    // An error may have ended the transaction.
    if (connection.isInTransaction) connection.run('ROLLBACK', [])
  }
}
