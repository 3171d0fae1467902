import { afterId } from '../../../core/filter/after-id.js'
import type { Snapshot } from '../../../core/storage.js'
import { STRUCTURES } from '../../sql/dialect.js'
import type { Connection } from '../connection/connection.js'
import { whileBusy } from '../connection/while-busy.js'
import { explain } from '../faults.js'
import { sqliteDialect } from '../sqlite-dialect.js'
import { listExisting } from './list-existing.js'

const NAMES = `SELECT DISTINCT ${sqliteDialect.structures.owner()} FROM ${sqliteDialect.structures.table}`

/**
 * Opens a snapshot on a connection, which nothing else uses until the snapshot is closed. In WAL mode it blocks no
 * writes, but keeps the log of SQLite from being reused.
 */
export async function openSnapshot(connection: Connection): Promise<Snapshot> {
  const countNamed = (name: string): unknown =>
    connection.first('SELECT count(*) FROM sqlite_schema WHERE name = ?', [name])
  try {
    connection.run('BEGIN', [])
    // The transaction takes its snapshot with its first read.
    await whileBusy(() => countNamed(STRUCTURES))
  } catch (thrown) {
    throw explain(thrown)
  }
  return {
    collections: () => (countNamed(STRUCTURES) === 1 ? connection.all(NAMES, []).map(String) : []),
    async next(collection, after) {
      try {
        return listExisting(connection, collection, afterId(after))
      } catch (thrown) {
        throw explain(thrown)
      }
    },
    async close() {
      if (connection.isInTransaction) connection.run('ROLLBACK', [])
    },
  }
}
