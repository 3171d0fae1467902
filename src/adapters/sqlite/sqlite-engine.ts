import type { SqlEngine } from '../sql/engine.js'
import { createStatements } from '../sql/statements.js'
import { isExisting, lacksColumn, takenBy } from './faults.js'
import { sqliteDialect } from './sqlite-dialect.js'

/** The engine of SQLite. Its indexes accept values of any length, so no value is too long. */
export const sqliteEngine: SqlEngine = {
  dialect: sqliteDialect,
  statements: createStatements(sqliteDialect),
  takenBy,
  isExisting,
  lacksColumn,
  isTooLong: () => false,
}
