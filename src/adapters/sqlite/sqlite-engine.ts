import type { SqlEngine } from '../sql/engine.js'
import { createStatements } from '../sql/statements.js'
import { isExisting, lacksColumn, takenBy } from './faults.js'
import { sqliteDialect } from './sqlite-dialect.js'

/** The engine of SQLite; its indexes take values of any length. */
export const sqliteEngine: SqlEngine = {
  dialect: sqliteDialect,
  statements: createStatements(sqliteDialect),
  takenBy,
  isExisting,
  lacksColumn,
  isTooLong: () => false,
}
