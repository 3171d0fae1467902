import type { Sliced } from '../../../slices.js'
import type { Connection } from './connection.js'

/** Does work on a connection as its file is at one moment. */
export function* inSnapshot<T>(connection: Connection, work: Sliced<T>): Sliced<T> {
  connection.run('BEGIN', [])
  try {
    return yield* work
  } finally {
    // A fault may have ended it.
    if (connection.isInTransaction) connection.run('ROLLBACK', [])
  }
}
