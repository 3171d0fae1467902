import type { StorageAdapter } from '../../../core/storage.js'
import { overSession } from './over-session.js'
import { createProgramAdapter } from './program-adapter.js'
import { isRead, type ProgramLimits, type ProgramStatement } from './program-driver.js'

/** An open database of `@sqlite.org/sqlite-wasm`, such as an `oo1.DB` or an `OpfsSAHPoolDb`, as far as the adapter uses it. */
export interface SqliteWasmDatabase {
  exec(options: {
    sql: string
    bind?: (string | number)[]
    /** The first column of each row. */
    rowMode: 0
    returnValue: 'resultRows'
  }): unknown[]
  changes(): unknown
}

/** The limits of SQLite with its default settings: a row of the log has at most 1,000,000,000 bytes. */
const LIMITS: ProgramLimits = {
  parameters: 1000,
  statementBytes: 1_000_000,
  depth: 1000,
  documentBytes: 400_000_000,
}

/**
 * Creates an adapter that stores documents in a database of SQLite's WebAssembly in this thread: in memory, or in the
 * origin private file system of a browser, in a worker. Nothing else writes to the database, and it has one adapter. The
 * adapter never closes the database.
 *
 * @example
 * ```ts
 * const pool = await sqlite3.installOpfsSAHPoolVfs({})
 * const adapter = createSqliteWasmAdapter(new pool.OpfsSAHPoolDb('/app.db'))
 * const service = createCollectionService(config, adapter)
 * ```
 */
export function createSqliteWasmAdapter(database: SqliteWasmDatabase): StorageAdapter {
  const exec = (sql: string, bind: ProgramStatement['values'] = []): unknown[] =>
    database.exec({
      sql,
      ...(bind.length > 0 ? { bind: [...bind] } : {}),
      rowMode: 0,
      returnValue: 'resultRows',
    })
  const driver = overSession({
    limits: LIMITS,
    run(statement) {
      const rows = exec(statement.text, statement.values)
      return { rows, changes: isRead(statement) ? 0 : Number(database.changes()) }
    },
    transact(work) {
      exec('BEGIN IMMEDIATE')
      try {
        const result = work()
        exec('COMMIT')
        return result
      } catch (thrown) {
        rollBack()
        throw thrown
      }
    },
  })
  return createProgramAdapter(driver)

  /** Some errors have already rolled the transaction back. */
  function rollBack(): void {
    try {
      exec('ROLLBACK')
    } catch {}
  }
}
