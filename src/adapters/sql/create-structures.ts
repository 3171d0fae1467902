import { inTurn, whenFailed, whenReady } from '../../core/promises.js'
import type { MaybePromise } from '../../core/storage.js'
import { askAll } from './apply-steps.js'
import { type Bind, quoteName, type SqlDialect } from './dialect.js'
import type { Ask, DatabaseWork, SqlEngine } from './engine.js'
import { UnusableStorage } from './faults.js'
import { writeStatement } from './statements.js'
import { isIndex, type Structure, tableOf } from './structures.js'

/** Creates structures and records them. The caller runs it in a transaction. */
export const createStructures =
  (engine: SqlEngine, structures: readonly Structure[]): DatabaseWork<void> =>
  (ask) =>
    inTurn(structures, (structure) => createStructure(engine, ask, structure))

function createStructure(engine: SqlEngine, ask: Ask, structure: Structure): MaybePromise<undefined> {
  const { dialect } = engine
  const statements = structure.sql.map((text) => ({ text, values: [] }))
  const explain = (thrown: unknown): never => {
    if (engine.isExisting(thrown)) throw notOurs(dialect, structure, thrown)
    throw explainStructure(engine, structure, thrown) ?? thrown
  }
  const note = writeStatement(dialect, (bind) => noteStructure(dialect, structure, bind))
  const creating = whenReady(
    whenFailed(() => askAll(ask, statements), explain),
    () => ask(note),
  )
  return whenReady(creating, () => undefined)
}

/**
 * Creates the error for an index that cannot be created because of existing documents. Returns `undefined` for any
 * other error.
 */
export const explainStructure = (
  { takenBy, isTooLong }: SqlEngine,
  structure: Structure,
  thrown: unknown,
): Error | undefined => {
  if (isTooLong(thrown)) return tooLong(structure)
  return takenBy(thrown) === undefined ? undefined : notUnique(structure)
}

/** Creates the error for a table or an index whose name is already in use, probably by another application. */
export function notOurs(dialect: SqlDialect, structure: Structure, cause: unknown): Error {
  const name = isIndex(structure) ? quoteName(structure.name) : tableOf(structure, dialect)
  return new UnusableStorage(
    `${name} already exists, but ${dialect.structures.table} does not record it as created by this service: it belongs to another application, or its row there was deleted; give the service ${dialect.ownPlace}, or rename the existing table or index`,
    cause,
  )
}

/** Creates the error for a table of structures that another application created. Returns any other error unchanged. */
export const explainRecorded = (engine: SqlEngine, thrown: unknown): unknown =>
  engine.lacksColumn(thrown)
    ? new UnusableStorage(
        `the table ${engine.dialect.structures.table} lacks columns in which this service records its tables, so it belongs to another application or to a later version of this package; give the service ${engine.dialect.ownPlace}, or use that version`,
        thrown,
      )
    : thrown

/**
 * Returns the name under which an index is recorded while it is built. An index is recorded before it is complete,
 * because a unique index rejects writes of other processes even before it is complete.
 */
export const nameWhileBuilt = (name: string): string => `building ${name}`

/** Returns the statement that records a structure as existing. */
export function noteStructure(
  { structures }: SqlDialect,
  { name, collection, unique }: Structure,
  bind: Bind,
): string {
  const values = [name, collection, JSON.stringify(unique)].map(bind).join(', ')
  return `INSERT INTO ${structures.table} (name, ${structures.owner()}, bound) VALUES (${values})`
}

/** Creates the error for a new unique index if documents have equal values. It names the fields, never the values. */
export function notUnique({ collection, unique }: Structure): Error {
  const names = (unique ?? []).map(({ path }) => path).join(' and ')
  return new UnusableStorage(
    `documents of ${collection} have the same ${names}, which must be unique; change or delete all but one of the documents with equal values`,
  )
}

/** Creates the error for a new index if values are too long for the engine. It names the fields, never the values. */
const tooLong = ({ collection, fields }: Structure): Error =>
  new UnusableStorage(
    `documents of ${collection} have strings in ${fields.map(({ path }) => path).join(' and ')} that are too long for an index; shorten them, or do not declare the index`,
  )
