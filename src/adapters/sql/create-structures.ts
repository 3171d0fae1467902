import type { FieldRef } from '../../filter/filter.js'
import type { Bind, SqlDialect } from './dialect.js'
import type { Asking, SqlEngine } from './engine.js'
import { writeStatement } from './statements.js'
import type { Structure } from './structures.js'

/** Creates structures and records them, inside a transaction. */
export function* createStructures(engine: SqlEngine, structures: readonly Structure[]): Asking<void> {
  const { dialect } = engine
  for (const structure of structures) {
    try {
      yield { text: structure.sql, values: [] }
    } catch (thrown) {
      throw explainStructure(engine, structure, thrown) ?? thrown
    }
    yield writeStatement(dialect, (bind) => noteStructure(dialect, structure, bind))
  }
}

/** The error of an index that the documents do not allow; `undefined` for any other. */
export const explainStructure = (
  { takenBy, isTooLong }: SqlEngine,
  structure: Structure,
  thrown: unknown,
): Error | undefined => {
  if (isTooLong(thrown)) return tooLong(structure)
  return takenBy(thrown) === undefined ? undefined : notUnique(structure)
}

/** The name under which an index is recorded while it is built: a unique one binds others already. */
export const nameWhileBuilt = (name: string): string => `building ${name}`

/** Records that a structure exists. */
export function noteStructure(
  { structures }: SqlDialect,
  { name, collection, unique }: Structure,
  bind: Bind,
): string {
  const values = [name, collection, JSON.stringify(unique)].map(bind).join(', ')
  return `INSERT INTO ${structures.table} (name, collection, bound) VALUES (${values})`
}

/** The fields of unique indexes, of all services, in the order of their creation. */
export function* readUnique(
  dialect: SqlDialect,
  by: 'collection' | 'name',
  value: string,
): Asking<readonly (readonly FieldRef[])[]> {
  const { table, order } = dialect.structures
  const sought = by === 'name' ? [value, nameWhileBuilt(value)] : [value]
  const { rows } = yield writeStatement(
    dialect,
    (bind) =>
      `SELECT bound FROM ${table} WHERE ${by} IN (${sought.map(bind).join(', ')}) AND bound <> 'null' ORDER BY ${order}`,
  )
  return rows.map((bound) => JSON.parse(String(bound)) as readonly FieldRef[])
}

/**
 * The error of a new unique index over documents that are not unique. It names the fields, never the values.
 */
export function notUnique({ collection, unique }: Structure): Error {
  const names = (unique ?? []).map(({ path }) => path).join(' and ')
  return new Error(`documents of ${collection} have the same ${names}, which must be unique`)
}

/**
 * The error of a new index over values that are too long for the engine. It names the fields, never the
 * values.
 */
const tooLong = ({ collection, fields }: Structure): Error =>
  new Error(
    `documents of ${collection} hold texts in ${fields.map(({ path }) => path).join(' and ')} that are too long for an index`,
  )
