import type { SqlEngine } from '../sql/engine.js'
import { createStatements } from '../sql/statements.js'
import { isExisting, isTooLong, lacksColumn, takenBy } from './faults.js'
import { createPostgresDialect } from './postgres-dialect.js'

/** The engine of PostgreSQL, in one schema. */
export function createPostgresEngine(schema: string): SqlEngine {
  const dialect = createPostgresDialect(schema)
  return { dialect, statements: createStatements(dialect), takenBy, isExisting, lacksColumn, isTooLong }
}
