import { once } from 'node:events'
import { isServiceError } from '../../../core/errors.js'
import type { FieldRef } from '../../../core/filter/filter.js'
import type { CollectionPlan, WriteStep } from '../../../core/storage.js'
import {
  createStructures,
  explainRecorded,
  explainStructure,
  nameWhileBuilt,
  noteStructure,
  notUnique,
} from '../../sql/create-structures.js'
import { quoteName, type Value } from '../../sql/dialect.js'
import { messageOf, UnusableStorage } from '../../sql/faults.js'
import {
  isOfElements,
  isOfNewTable,
  lacking,
  lapseLogging,
  type Structure,
  structuresOf,
} from '../../sql/structures.js'
import { namesOf, type Recorded, warnOfLeft } from '../../sql/warn-of-left.js'
import type { Connections, WorkCaller } from '../connection/connections.js'
import { drive } from '../connection/drive.js'
import type { Rows, RunStatement } from '../connection/session.js'
import { inTransaction } from '../connection/transaction.js'
import { createElements, ENTRY_ID, isNamedElements, markOf, TRIGGERS } from '../elements.js'
import {
  codeOf,
  isDenied,
  isLockTimeout,
  isLost,
  isReadOnly,
  isUndefined,
  lacksLanguage,
  unavailable,
} from '../faults.js'
import { BEGIN_STRUCTURES, lockStructures, workInTurn } from './in-turn.js'
import { type DatabaseSchema, forget, noteBuilding, rename, tableOf } from './place.js'

/**
 * Drops indexes over texts that no plan needs, in the collections of some steps, because they reject long texts.
 * Other processes then read without the dropped tables of elements. A dropped unique index is replaced by one over
 * digests. The work continues after its caller has left.
 */
type DropSurplus = (steps: readonly WriteStep[], caller: WorkCaller) => Promise<void>

/** Creates the function that drops indexes. Indexes that this role may not drop stay. */
export function createDropSurplus(
  use: Connections['use'],
  place: DatabaseSchema,
  plans: ReadonlyMap<string, CollectionPlan>,
): DropSurplus {
  let turn = Promise.resolve()
  return async (steps, { signal }) => {
    turn = turn.then(() => dropFrom(use, place, [...plans.values()], steps)).catch(() => {})
    await (signal ? Promise.race([turn, once(signal, 'abort')]) : turn)
    if (signal?.aborted) throw unavailable(signal.reason)
  }
}

function dropFrom(
  use: Connections['use'],
  place: DatabaseSchema,
  plans: readonly CollectionPlan[],
  steps: readonly WriteStep[],
): Promise<void> {
  const collections = [...new Set(steps.map((step) => step.in))]
  const wanted = structuresOf(plans, place.engine.dialect).map(({ name }) => name)
  return workInTurn(use, place, async (run) => {
    const values = [place.schema, nameWhileBuilt(''), collections, wanted]
    const [found] = (await run(findSurplus(place), values)).rows
    return found && ((run) => drop(run, place, found))
  })
}

const findSurplus = (place: DatabaseSchema): string =>
  `${findIndexes(place)} UNION ALL ${findElements(place)}`

const findIndexes = (place: DatabaseSchema): string =>
  `SELECT indexname::text AS name, collection, bound, 'false' AS "isOfElements" FROM ${tableOf(place)} JOIN pg_indexes ON schemaname = $1 AND indexname = replace(name, $2, '')
WHERE collection = ANY($3) AND NOT indexname = ANY($4) AND replace(indexdef, '"', '') LIKE '%''string''::text THEN (%' AND replace(indexdef, '"', '') NOT LIKE '%sha256(%'`

/** The tables of elements that have texts. */
const findElements = (place: DatabaseSchema): string =>
  `SELECT relname::text, collection, bound, 'true' FROM ${tableOf(place)} JOIN pg_class ON relname = replace(name, $2, '') AND relnamespace = quote_ident($1)::regnamespace
WHERE ${isNamedElements('relname::text')} AND collection = ANY($3) AND NOT relname = ANY($4) AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname <> '${ENTRY_ID}' AND attnum > 0 AND atttypid = 'text'::regtype)`

async function drop(
  run: RunStatement,
  place: DatabaseSchema,
  { name, collection, bound, isOfElements }: { readonly [column: string]: unknown },
): Promise<void> {
  if (isOfElements === 'true')
    return dropElements(run, place, { name: String(name), collection: String(collection) })
  const { dialect } = place.engine
  const fields = JSON.parse(String(bound)) as readonly FieldRef[] | null
  const plan = { name: String(collection), indexes: fields ? [{ fields, unique: true }] : [] }
  const entries = dialect.entries && { ...dialect.entries, texts: 0 }
  for (const structure of structuresOf([plan], { ...dialect, entries }))
    if (structure.unique) await build(run, place, structure)
  await run(`DROP INDEX CONCURRENTLY IF EXISTS ${quoteName(place.schema)}.${quoteName(String(name))}`)
  await run(`DELETE FROM ${tableOf(place)} WHERE name LIKE $1`, [`%${name}`])
}

/** The advice for a server that rejects connections. The text of the server names the database and the role. */
const REFUSED: readonly (readonly [code: RegExp, advice: string])[] = [
  [/^28/, 'correct the user and the password of the connection, or let the role in by pg_hba.conf'],
  [/^3D/, 'create the database, or correct its name in the connection'],
  [/^42501/, 'grant the role CONNECT on the database'],
  [/^53300/, 'raise max_connections of the server, or lower the connections of its clients'],
]

/** Explains to the operator why the opening of a schema failed. */
export async function explainOpening(
  use: Connections['use'] | undefined,
  schema: string,
  thrown: unknown,
): Promise<unknown> {
  if (isServiceError(thrown)) {
    const { cause } = thrown
    const advice = REFUSED.find(([code]) => code.test(codeOf(cause)))?.[1]
    return advice === undefined ? thrown : unavailable(explained(cause, advice))
  }
  if (isReadOnly(thrown))
    return unavailable(explained(thrown, 'connect to a server that takes writes, which a standby does not'))
  if (isLost(thrown)) return unavailable(thrown)
  return (isDenied(thrown) || lacksLanguage(thrown)) && use ? explainDenied(use, schema, thrown) : thrown
}

const explained = (cause: unknown, advice: string): Error =>
  new Error(`${messageOf(cause)}; ${advice}`, { cause })

/** Names the role, which the server's error does not, and the rights that it needs. */
async function explainDenied(use: Connections['use'], schema: string, thrown: unknown): Promise<unknown> {
  const ask = 'SELECT quote_ident(current_user) AS role, quote_ident(current_database()) AS database'
  const { rows } = await use(({ run }) => run(ask), {}).catch(() => ({ rows: [] }))
  const [{ role = 'the role', database = 'the database' } = {}] = rows
  const name = quoteName(schema)
  return new UnusableStorage(
    `the role ${role} may not open the schema ${name} of the database ${database} (${messageOf(thrown)}); a role that may runs CREATE SCHEMA IF NOT EXISTS ${name} AUTHORIZATION ${role}, or GRANT USAGE, CREATE ON SCHEMA ${name} TO ${role}, and makes ${role} the owner of tables that are there; an index over an array needs USAGE ON LANGUAGE plpgsql as well; or it opens the service once, and grants what migrate: false needs: USAGE on the schema, and SELECT, INSERT, UPDATE and DELETE on its tables`,
    thrown,
  )
}

/** The wanted structures that are missing, or whose index is invalid; all if there is no schema. */
const readMissing = async (
  run: RunStatement,
  place: DatabaseSchema,
  wanted: readonly Structure[],
): Promise<readonly Structure[]> => lacking(wanted, namesOf(await readRecorded(run, place, wanted)))

/**
 * All existing structures, without invalid indexes; none if there is no schema. Rejects if this role may not read the
 * table of a wanted one.
 */
async function readRecorded(
  run: RunStatement,
  place: DatabaseSchema,
  wanted: readonly Structure[],
): Promise<readonly Recorded[]> {
  try {
    return await readRows(run, place, wanted)
  } catch (thrown) {
    if (!isUndefined(thrown)) throw explainRecorded(place.engine, thrown)
    return []
  }
}

async function readRows(
  run: RunStatement,
  place: DatabaseSchema,
  wanted: readonly Structure[],
): Promise<readonly Recorded[]> {
  const placed = placedIn(place)
  const isOfElements = isNamedElements('name')
  const table = `CASE WHEN ${isOfElements} THEN name ELSE collection END`
  const isValid = `CASE WHEN ${isOfElements} THEN ${writeAreKept(place, 'name', 'collection')} ELSE (SELECT indisvalid FROM pg_index WHERE indexrelid = ${placed('name')}) END`
  // For a table that was dropped by hand, the privilege is NULL.
  const { rows } = await run(
    `SELECT name, collection, bound, has_table_privilege(${placed(table)}, 'SELECT')::text AS "mayRead", current_setting('server_encoding') AS encoding, (${isValid})::text AS "isValid" FROM ${tableOf(place)}`,
  )
  for (const { name, collection, mayRead, encoding } of rows) {
    if (encoding !== 'UTF8') throw wrongEncoding(encoding)
    if (mayRead === 'false' && wanted.some((one) => one.name === name))
      throw new UnusableStorage(
        `this role may not read the table of ${collection} in the schema ${place.schema}; its owner grants it SELECT, INSERT, UPDATE and DELETE on all tables there`,
      )
  }
  return rows.flatMap(({ name, collection, bound, isValid }) =>
    isValid === 'false' ? [] : [{ name: String(name), collection: String(collection), bound: String(bound) }],
  )
}

const placedIn =
  ({ schema }: DatabaseSchema) =>
  (name: string): string =>
    `to_regclass(quote_ident('${schema}') || '.' || quote_ident(${name}))`

/** The SQL condition that a table of elements exists, and its triggers are enabled. */
function writeAreKept(place: DatabaseSchema, name: string, collection: string): string {
  const placed = placedIn(place)
  const triggers = `SELECT count(*) = ${TRIGGERS} FROM pg_trigger WHERE tgrelid = ${placed(collection)} AND tgenabled IN ('O', 'A') AND starts_with(tgname::text, ${name} || '_${markOf(place.schema)}_')`
  return `${placed(name)} IS NOT NULL AND (${triggers})`
}

/** Whether a table of elements exists, and its triggers are enabled. */
async function areKept(
  run: RunStatement,
  place: DatabaseSchema,
  { name, collection }: Structure,
): Promise<boolean> {
  const text = `SELECT (${writeAreKept(place, '$1::text', '$2::text')})::text AS "areKept"`
  const [found] = (await run(text, [name, collection])).rows
  return found?.areKept === 'true'
}

/** The error of a database in another encoding. */
const wrongEncoding = (encoding: unknown): Error =>
  new UnusableStorage(
    `the database is in ${encoding}, not in UTF8, so texts would be in another order; create one with ENCODING 'UTF8'`,
  )

/** The number of documents per transaction, and of transactions per step. */
const BATCH = 200
const BATCHES = 25

/**
 * Lock timeout, and pause before the retry, in milliseconds. The timeout is short because other writes queue up while
 * this one waits for a lock.
 */
const PATIENCE = 100
const PAUSE = 200

const idsOf = (rows: Rows['rows']): readonly string[] => rows.map(({ _id }) => String(_id))

const BEGIN = `${BEGIN_STRUCTURES}; SET LOCAL lock_timeout = '${PATIENCE}ms'`

/** Runs one step of building a table of elements. After the last step, the table is recorded as built. */
type FillElements = (run: RunStatement, structure: Structure) => Promise<void>

/**
 * Creates the function that builds tables of elements while other processes write. From the first step on, triggers
 * keep a table up to date with new writes; the other steps add the elements of stored documents, in the order of
 * `_id`, and lock these documents until their transaction ends. Adding one twice changes nothing, so a process that
 * resumes the work of another begins at the first document.
 */
function createFillElements(place: DatabaseSchema): FillElements {
  /** The last document whose entries were added, by table. */
  const done = new Map<string, string>()

  const begin = (run: RunStatement, structure: Structure): Promise<void> =>
    inTransaction(run, BEGIN, async () => {
      const { create, drop } = createElements(place.schema, structure)
      await noteBuilding(run, place, structure)
      if (await areKept(run, place, structure)) return
      for (const statement of [...drop, ...create]) await run(statement)
    })

  /** Adds one batch. Returns whether there are more documents. */
  const addBatch = async (run: RunStatement, structure: Structure): Promise<boolean> => {
    const { fillSome } = createElements(place.schema, structure)
    const ids = await inTransaction(run, BEGIN, async () => {
      const { rows } = await run(
        `SELECT _id FROM ${place.engine.dialect.table(structure.collection)} WHERE _id > $1 ORDER BY _id LIMIT ${BATCH} FOR NO KEY UPDATE`,
        [done.get(structure.name) ?? ''],
      )
      const ids = idsOf(rows)
      if (ids.length > 0) await run(fillSome, [ids])
      return ids
    })
    const last = ids.at(-1)
    if (last !== undefined) done.set(structure.name, last)
    return ids.length === BATCH
  }

  const take = async (run: RunStatement, structure: Structure): Promise<void> => {
    const { name } = structure
    if (!done.has(name)) {
      await begin(run, structure)
      done.set(name, '')
    }
    for (let i = 0; i < BATCHES; i++) {
      if (await addBatch(run, structure)) continue
      await rename(run, place, [nameWhileBuilt(name), name])
      return
    }
  }

  return async (run, structure) => {
    try {
      await take(run, structure)
    } catch (thrown) {
      if (isLockTimeout(thrown)) return new Promise((resolve) => later(resolve, PAUSE))
      const explained = explainStructure(place.engine, structure, thrown)
      if (!explained) throw thrown
      await dropElements(run, place, structure)
      throw explained
    }
  }
}

/** Drops a table of elements with its triggers. */
export async function dropElements(
  run: RunStatement,
  place: DatabaseSchema,
  { name, collection }: Pick<Structure, 'name' | 'collection'>,
): Promise<void> {
  const { drop } = createElements(place.schema, { name, collection, fields: [] })
  for (;;) {
    try {
      return await inTransaction(run, BEGIN, async () => {
        for (const statement of drop) await run(statement)
        for (const noted of [name, nameWhileBuilt(name)]) await forget(run, place, noted)
      })
    } catch (thrown) {
      if (!isLockTimeout(thrown)) throw thrown
      await new Promise((resolve) => later(resolve, PAUSE))
    }
  }
}

// Captured on load: the fake timers of a test must not stop this module.
const later = setTimeout

/**
 * Builds missing indexes of existing tables, one after another, by one process at a time, while other processes
 * write. Resolves when all exist, whichever process built them. A unique index stays once built, because other
 * processes may rely on it; so unique indexes come after all steps that can fail, and a failed start leaves none in
 * force.
 */
function buildIndexes(
  use: Connections['use'],
  place: DatabaseSchema,
  wanted: readonly Structure[],
): Promise<void> {
  const checked = new Set<string>()
  const fill = createFillElements(place)
  return workInTurn(use, place, async (run) => {
    const missing = await readMissing(run, place, wanted)
    const isNew = isOfNewTable(missing)
    const indexes = missing.filter((one) => !isNew(one))
    const unchecked = indexes.find(({ name, unique }) => unique && !checked.has(name))
    const next = indexes.find(({ unique }) => !unique) ?? indexes[0]
    if (!unchecked) return next && ((run) => (isOfElements(next) ? fill(run, next) : build(run, place, next)))
    return async (run) => {
      await check(run, place, unchecked)
      checked.add(unchecked.name)
    }
  })
}

/** Throws if documents have equal values in the fields of a unique index that is not built yet. */
async function check(run: RunStatement, place: DatabaseSchema, structure: Structure): Promise<void> {
  const { dialect } = place.engine
  const values = (structure.unique ?? []).map((field) => dialect.value(field))
  // Sorted, not hashed: the memory of a sort does not depend on the number of documents.
  const { rows } = await run(
    `SELECT (count(*) > count(DISTINCT (${values.join(', ')})))::text AS "hasTwins" FROM ${dialect.table(structure.collection)} WHERE ${values.map((value) => `${value} IS NOT NULL`).join(' AND ')}`,
  )
  if (rows[0]?.hasTwins === 'true') throw notUnique(structure)
}

/**
 * The statements that create an index, outside of a transaction. Other processes write meanwhile, except to the
 * documents of an index of elements.
 */
const concurrently = (structure: Structure): string => {
  const sql = structure.sql.join(';\n')
  return isOfElements(structure) ? `BEGIN;\n${sql};\nCOMMIT` : sql.replace('INDEX', 'INDEX CONCURRENTLY')
}

/** Builds one index. The remains of an interrupted build are replaced. */
export async function build(run: RunStatement, place: DatabaseSchema, structure: Structure): Promise<void> {
  const { name } = structure
  const index = `${quoteName(place.schema)}.${quoteName(name)}`
  const drop = `DROP INDEX CONCURRENTLY IF EXISTS ${index}`

  await noteBuilding(run, place, structure)
  const [found] = (
    await run('SELECT indisvalid::text FROM pg_index WHERE indexrelid = to_regclass($1)', [index])
  ).rows
  if (found?.indisvalid !== 'true') {
    if (found) await run(drop)
    try {
      await run(concurrently(structure))
    } catch (thrown) {
      const explained = explainStructure(place.engine, structure, thrown)
      if (!explained) throw thrown
      await run(drop)
      await forget(run, place, nameWhileBuilt(name))
      throw explained
    }
  }
  await rename(run, place, [nameWhileBuilt(name), name])
}

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
