import type { CollectionPlan } from '../../storage.js'
import { createStructures, noteStructure } from '../sql/create-structures.js'
import { quoteName, type Value } from '../sql/dialect.js'
import type { SqlEngine } from '../sql/engine.js'
import { type Structure, structuresOf } from '../sql/structures.js'
import { drive } from './connection/drive.js'
import type { RunStatement } from './connection/session.js'
import { inTransaction } from './connection/transaction.js'
import { isUndefined } from './faults.js'

/** A schema of PostgreSQL, and the names of its tables. */
export interface Place {
  readonly schema: string
  readonly engine: SqlEngine
}

const tableOf = ({ engine }: Place): string => engine.dialect.structures.table

/**
 * Creates the missing schema, tables and indexes of the plans, all or none; one SELECT where none is missing.
 * Processes that start together do so one after another. Without `migrate` it only checks, and rejects with
 * the missing SQL.
 */
export async function createMissing(
  run: RunStatement,
  place: Place,
  plans: readonly CollectionPlan[],
  migrate: boolean,
): Promise<void> {
  const wanted = structuresOf(plans, place.engine.dialect)
  const missing = findMissing(await readIfThere(run, place, wanted), wanted)
  if (missing.length === 0) return
  if (!migrate) throw new Error(describeMissing(place, missing))
  await inTransaction(run, 'BEGIN', async () => {
    await run('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`collection-service ${place.schema}`])
    await prepareSchema(run, place)
    const known = await readStructures(run, place, wanted)
    await drive(run, createStructures(place.engine, findMissing(known, wanted)))
  })
}

/** The names of all present structures. Rejects where this role may not read the table of a wanted one. */
async function readStructures(
  run: RunStatement,
  place: Place,
  wanted: readonly Structure[],
): Promise<ReadonlySet<unknown>> {
  // A table that was dropped by hand has NULL as its privileges.
  const table = `to_regclass(quote_ident('${place.schema}') || '.' || quote_ident(collection))`
  const { rows } = await run(
    `SELECT name, collection, has_table_privilege(${table}, 'SELECT') AS "mayRead", current_setting('server_encoding') AS encoding FROM ${tableOf(place)}`,
  )
  for (const { name, collection, mayRead, encoding } of rows) {
    if (encoding !== 'UTF8') throw wrongEncoding(encoding)
    if (mayRead === false && wanted.some((one) => one.name === name))
      throw new Error(`permission denied for the table of ${collection}`)
  }
  return new Set(rows.map(({ name }) => name))
}

async function readIfThere(
  run: RunStatement,
  place: Place,
  wanted: readonly Structure[],
): Promise<ReadonlySet<unknown>> {
  try {
    return await readStructures(run, place, wanted)
  } catch (thrown) {
    if (isUndefined(thrown)) return new Set()
    throw thrown
  }
}

const findMissing = (known: ReadonlySet<unknown>, wanted: readonly Structure[]): readonly Structure[] =>
  wanted.filter(({ name }) => !known.has(name))

const wrongEncoding = (encoding: unknown): Error =>
  new Error(`the database is in ${encoding}, not in UTF8, so texts would be in another order`)

const createSchema = ({ schema }: Place): string => `CREATE SCHEMA IF NOT EXISTS ${quoteName(schema)}`

const createTable = (place: Place): string =>
  `CREATE TABLE IF NOT EXISTS ${tableOf(place)} (position integer GENERATED ALWAYS AS IDENTITY, name text NOT NULL, collection text NOT NULL, bound text NOT NULL)`

async function prepareSchema(run: RunStatement, place: Place): Promise<void> {
  const { rows } = await run(
    'SELECT current_setting($1) AS encoding, to_regnamespace($2) IS NOT NULL AS exists',
    ['server_encoding', quoteName(place.schema)],
  )
  const [found] = rows
  if (found?.encoding !== 'UTF8') throw wrongEncoding(found?.encoding)
  // A role that may not create schemas may still use one.
  if (found.exists !== true) await run(createSchema(place))
  await run(createTable(place))
}

/** The SQL that a role with the rights has to run. */
function describeMissing(place: Place, missing: readonly Structure[]): string {
  const quote = (value: Value): string => `'${String(value).replaceAll("'", "''")}'`
  const statements = missing.flatMap((structure) => [
    structure.sql,
    noteStructure(place.engine.dialect, structure, quote),
  ])
  const all = [createSchema(place), createTable(place), ...statements]
  return `the database lacks what the configuration asks for, and migrate is false; missing:\n${all.join(';\n')};`
}
