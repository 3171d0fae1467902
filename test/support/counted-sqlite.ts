import Database from 'better-sqlite3'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import type { CountedStorage } from './counted-memory.js'

/**
 * The tables of collections, or of elements with the documents that are joined, in a statement, with the index that it names:
 * behind them its conditions begin.
 */
const CONDITIONS =
  /FROM "(c|_elements)_\w+" (?:NOT INDEXED |INDEXED BY \S+ )?(?:LEFT JOIN "c_\w+" ON \S+ = \S+ )?WHERE /g

/** The rows that statements of collections have looked at, in all databases. */
let rows = 0

const counting = new WeakSet<object>()
const { prepare } = Database.prototype

/** All that conditions bound by an index leave passes a function, whatever is asked of it then. */
Database.prototype.prepare = function (this: Database.Database, text: string) {
  const counted = text.replace(
    CONDITIONS,
    (from, kind) => `${from}looked_at(${kind === 'c' ? 'rowid' : 'c0'}) AND `,
  )
  // What triggers look at is that of a write.
  if (counted === text || text.startsWith('CREATE TRIGGER')) return prepare.call(this, text)
  if (!counting.has(this)) {
    counting.add(this)
    this.function('looked_at', { deterministic: false }, (_) => {
      rows += 1
      return 1
    })
  }
  return prepare.call(this, counted)
} as typeof prepare

/** An adapter of SQLite that counts the rows of its tables and indexes that statements look at. */
export const createCountedSqlite = (): CountedStorage => ({
  adapter: createSqliteAdapter({ file: ':memory:' }),
  async countRows(work) {
    const before = rows
    await work()
    return rows - before
  },
})
