import type { IndexPlan } from '../../storage.js'
import type { SqlEngine } from '../sql/engine.js'
import { createStatements } from '../sql/statements.js'
import { isExisting, isTooLong, lacksColumn, takenBy } from './faults.js'
import { createPostgresDialect } from './postgres-dialect.js'
import { createSeek } from './read/entries.js'

/** Creates the engine of a schema; `indexesOf`: the indexes of a collection that statements can use. */
export function createPostgresEngine(
  schema: string,
  indexesOf: (collection: string) => readonly IndexPlan[] = () => [],
): SqlEngine {
  const plain = createPostgresDialect(schema)
  const dialect = { ...plain, seek: createSeek(plain, indexesOf) }
  return { dialect, statements: createStatements(dialect), takenBy, isExisting, lacksColumn, isTooLong }
}
