import type { LibsqlClient } from '../../src/adapters/sqlite/programs/libsql.js'
import type { SqliteWasmDatabase } from '../../src/adapters/sqlite/programs/sqlite-wasm.js'
import { type Closable, createD1Database, createObjectStorage } from './program-databases.js'

/** Creates a client like one of libSQL for a server, over a file. */
export function createLibsqlClient(file: string): Closable<LibsqlClient> {
  const database = createD1Database(file)
  return {
    protocol: 'http',
    async execute() {},
    async batch(statements) {
      const bound = statements.map(({ sql, args }) => database.prepare(sql).bind(...args))
      const all = await database.batch(bound)
      return all.map(({ results, meta }) => ({
        rows: results.map((row) => Object.values(Object(row))),
        rowsAffected: meta.changes ?? 0,
      }))
    },
    close: () => database.close(),
  }
}

/** Creates a database like one of SQLite's WebAssembly, over a file. */
export function createWasmDatabase(file: string): Closable<SqliteWasmDatabase> {
  const { sql, close } = createObjectStorage(file)
  const exec = (text: string, values: readonly (string | number)[] = []): unknown[] =>
    sql
      .exec(text, ...values)
      .toArray()
      .map((row) => Object.values(row)[0])
  return {
    exec: ({ sql: text, bind }) => exec(text, bind),
    changes: () => exec('SELECT changes()')[0],
    close,
  }
}
