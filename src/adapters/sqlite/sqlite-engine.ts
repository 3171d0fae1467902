import type { SqlEngine } from '../sql/engine.js'
import { createStatements } from '../sql/statements.js'
import { takenBy } from './faults.js'
import { sqliteDialect } from './sqlite-dialect.js'

/** SQLite, in whose indexes a value of any length has room. */
export const sqliteEngine: SqlEngine = {
  dialect: sqliteDialect,
  statements: createStatements(sqliteDialect),
  takenBy,
  isTooLong: () => false,
}
