import type { SqlEngine } from '../sql/engine.js'
import { createStatements } from '../sql/statements.js'
import { isTaken } from './faults.js'
import { sqliteDialect } from './sqlite-dialect.js'

/** SQLite names no index, and holds a value of any length in one. */
export const sqliteEngine: SqlEngine = {
  dialect: sqliteDialect,
  statements: createStatements(sqliteDialect),
  takenBy: (thrown) => (isTaken(thrown) ? '' : undefined),
  isTooLong: () => false,
}
