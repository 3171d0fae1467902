import type { CollectionPlan } from '../../../storage.js'
import { createStructures, noteStructure } from '../../sql/create-structures.js'
import { quoteName, type Value } from '../../sql/dialect.js'
import { UnusableStorage } from '../../sql/faults.js'
import { isOfNewTable, lacking, lapseLogging, type Structure, structuresOf } from '../../sql/structures.js'
import { namesOf, warnOfLeft } from '../../sql/warn-of-left.js'
import type { Connections } from '../connection/connections.js'
import { drive } from '../connection/drive.js'
import type { RunStatement } from '../connection/session.js'
import { inTransaction } from '../connection/transaction.js'
import { buildIndexes, concurrently } from './build-indexes.js'
import { BEGIN_STRUCTURES, lockStructures } from './lease.js'
import { type DatabaseSchema, tableOf } from './place.js'
import { readRecorded, wrongEncoding } from './read-missing.js'

/**
 * Creates the missing schema, tables and indexes of the plans, and ends logs that the plans do not want. One SELECT
 * if nothing is missing. New tables are created with their indexes, all or none, by one process at a time; indexes of
 * existing tables are built while other processes write. Without `migrate` it only checks, and rejects with the
 * missing SQL.
 */
export async function createMissing(
  use: Connections['use'],
  place: DatabaseSchema,
  plans: readonly CollectionPlan[],
  migrate: boolean,
): Promise<void> {
  const wanted = structuresOf(plans, place.engine.dialect)
  const findLapses = (present: ReadonlySet<unknown>): readonly string[] =>
    lapseLogging(plans, present, place.engine.dialect)
  const recorded = await use(({ run }) => readRecorded(run, place, wanted), {})
  warnOfLeft(wanted, recorded)
  const present = namesOf(recorded)
  const missing = lacking(wanted, present)
  const lapses = findLapses(present)
  if (missing.length === 0 && lapses.length === 0) return
  if (!migrate) throw new UnusableStorage(describeMissing(place, missing, lapses))
  const isNew = isOfNewTable(missing)
  // Steps that can fail because of existing documents come first: a failed start leaves no new table with its
  // constraints.
  if (!missing.every(isNew)) await buildIndexes(use, place, wanted)
  if (lapses.length > 0 || missing.some(isNew))
    await use(({ run }) => createNew(run, place, wanted, findLapses), {}, { mayKeepAlive: true })
  await buildIndexes(use, place, wanted)
}

/** Ends logs, and creates missing structures except for indexes of existing tables. */
const createNew = (
  run: RunStatement,
  place: DatabaseSchema,
  wanted: readonly Structure[],
  findLapses: (present: ReadonlySet<unknown>) => readonly string[],
): Promise<void> =>
  inTransaction(run, BEGIN_STRUCTURES, async () => {
    // A process that holds this lock never waits for another, not even for an index build.
    await lockStructures(run, place)
    await prepareSchema(run, place)
    const present = namesOf(await readRecorded(run, place, wanted))
    for (const statement of findLapses(present)) await run(statement)
    const missing = lacking(wanted, present)
    await drive(run, createStructures(place.engine, missing.filter(isOfNewTable(missing))))
  })

const createSchema = ({ schema }: DatabaseSchema): string =>
  `CREATE SCHEMA IF NOT EXISTS ${quoteName(schema)}`

const createTable = (place: DatabaseSchema): string =>
  `CREATE TABLE IF NOT EXISTS ${tableOf(place)} (position integer GENERATED ALWAYS AS IDENTITY, name text NOT NULL, collection text NOT NULL, bound text NOT NULL)`

async function prepareSchema(run: RunStatement, place: DatabaseSchema): Promise<void> {
  const { rows } = await run(
    // Reads a table, because the name lookup of this connection may be older than its wait for the lock.
    'SELECT current_setting($1) AS encoding, EXISTS (SELECT FROM pg_namespace WHERE nspname = $2::text)::text AS exists',
    ['server_encoding', place.schema],
  )
  const [found] = rows
  if (found?.encoding !== 'UTF8') throw wrongEncoding(found?.encoding)
  // A role that may not create schemas may still use an existing one.
  if (found.exists !== 'true') await run(createSchema(place))
  await run(createTable(place))
}

/** The SQL for a role with the rights to run it. */
function describeMissing(
  place: DatabaseSchema,
  missing: readonly Structure[],
  lapses: readonly string[],
): string {
  const quote = (value: Value): string => `'${String(value).replaceAll("'", "''")}'`
  const belongsToNew = isOfNewTable(missing)
  const statements = missing.flatMap((structure) => [
    ...(belongsToNew(structure) ? structure.sql : [concurrently(structure)]),
    noteStructure(place.engine.dialect, structure, quote),
  ])
  const all = [createSchema(place), createTable(place), ...lapses, ...statements]
  return `the database lacks structures that the configuration needs, and migrate is false; missing:\n${all.join(';\n')};`
}
