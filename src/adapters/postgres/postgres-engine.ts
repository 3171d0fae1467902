import type { IndexPlan } from '../../storage.js'
import type { SqlEngine } from '../sql/engine.js'
import { createStatements, type SeekElements } from '../sql/statements.js'
import { isExisting, isTooLong, lacksColumn, takenBy } from './faults.js'
import { createPostgresDialect } from './postgres-dialect.js'
import { createSeek } from './read/entries.js'

/** The engine of PostgreSQL, in one schema. */
export interface PostgresEngine extends SqlEngine {
  readonly seekElements: SeekElements
}

/** Creates the engine of a schema; `indexesOf`: the indexes of a collection that statements can use. */
export function createPostgresEngine(
  schema: string,
  indexesOf: (collection: string) => readonly IndexPlan[] = () => [],
): PostgresEngine {
  const dialect = createPostgresDialect(schema)
  const seekElements = createSeek(dialect, indexesOf)
  const statements = createStatements(dialect, seekElements)
  return { dialect, seekElements, statements, takenBy, isExisting, lacksColumn, isTooLong }
}
