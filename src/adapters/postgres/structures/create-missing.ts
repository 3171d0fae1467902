import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { isServiceError } from '../../../core/errors.js'
import type { FieldRef } from '../../../core/filter/filter.js'
import type { CallOptions, CollectionPlan, LeftIndex, WriteStep } from '../../../core/storage.js'
import {
  createStructures,
  explainRecorded,
  explainStructure,
  nameWhileBuilt,
  noteStructure,
  notUnique,
} from '../../sql/create-structures.js'
import { type ElementsIndex, quoteName, STRUCTURES, type Value } from '../../sql/dialect.js'
import type { SqlEngine } from '../../sql/engine.js'
import { messageOf, UnusableStorage } from '../../sql/faults.js'
import { findLeft, findUnique, namesOf, type Recorded } from '../../sql/find-left.js'
import { writeStatement } from '../../sql/statements.js'
import {
  isIndex,
  isOfElements,
  lacking,
  lapseLogging,
  type Structure,
  structuresOf,
  tableOf,
} from '../../sql/structures.js'
import { drive } from '../connection/drive.js'
import type { Connections, WorkCaller } from '../connection/lease.js'
import type { RunStatement } from '../connection/session.js'
import { pause } from '../connection/timers.js'
import { BOUND_IDLE, inTransaction } from '../connection/transaction.js'
import { createElements, type ElementsSql, ENTRY_ID, isNamedElements, markOf, TRIGGERS } from '../elements.js'
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
import { type Layout, readLayout } from '../layout.js'
import { createPostgresEngine } from '../postgres-engine.js'

/** A schema of PostgreSQL, and the engine for the tables in it. */
interface DatabaseSchema {
  readonly schema: string
  readonly engine: SqlEngine
}

/**
 * Creates the function that drops indexes over strings that no plan needs, because they reject long strings, from the
 * collections of the given steps. A dropped unique index is replaced with a unique index over digests. Other processes
 * then read without the dropped tables of elements. Indexes that this role may not drop are kept. The work continues
 * even if its caller stops waiting.
 */
export function createDropSurplus(
  use: Connections['use'],
  place: DatabaseSchema,
  plans: ReadonlyMap<string, CollectionPlan>,
) {
  let turn = Promise.resolve()
  return async (steps: readonly WriteStep[], { signal }: WorkCaller): Promise<void> => {
    turn = turn.then(() => dropFrom(use, place, [...plans.values()], steps)).catch(() => {})
    await (signal ? Promise.race([turn, once(signal, 'abort')]) : turn)
    if (signal?.aborted) throw unavailable(signal.reason)
  }
}

/** How long the right to build lasts. It does not expire while the server reports a running index build. */
const LASTS = '15 seconds'

/**
 * Begins a transaction that creates structures. It sets the isolation level, because with a stricter default of the
 * server, a statement would not see structures that were created after the transaction began.
 */
const BEGIN_STRUCTURES = `BEGIN ISOLATION LEVEL READ COMMITTED; ${BOUND_IDLE}`

/** Builds the statements of a table of elements. */
const elementsOf = (place: DatabaseSchema, index: ElementsIndex): ElementsSql =>
  createElements(place.schema, place.engine.dialect.table(index.collection), index)

/** Takes the lock for creating structures without the right to build. The end of the transaction releases it. */
const lockStructures = (run: RunStatement, { schema }: DatabaseSchema): Promise<unknown> =>
  run('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`collection-service ${schema}`])

/**
 * Creates the right of one process to build indexes. It is a row that other processes poll. A process that waited for a
 * lock instead would hold a snapshot, and the index build would wait for that snapshot. `take` takes or renews the
 * right, and returns false while another process has it or is still building an index.
 */
function createBuildRight(place: DatabaseSchema) {
  const holder = randomUUID()
  const table = `${quoteName(place.schema)}.${quoteName(`${STRUCTURES}_lease`)}`
  const building = `SELECT FROM pg_stat_progress_create_index AS building JOIN pg_class AS indexed ON indexed.oid = building.relid WHERE building.datname = current_database() AND indexed.relnamespace = to_regnamespace($2)`
  const take = `UPDATE ${table} SET holder = $1, until = clock_timestamp() + interval '${LASTS}' WHERE holder = $1 OR (until < clock_timestamp() AND NOT EXISTS (${building}))`
  const create = (run: RunStatement): Promise<void> =>
    inTransaction(run, BEGIN_STRUCTURES, async () => {
      await lockStructures(run, place)
      await run(`CREATE TABLE IF NOT EXISTS ${table} (holder text NOT NULL, until timestamptz NOT NULL)`)
      await run(`INSERT INTO ${table} SELECT '', '-infinity' WHERE NOT EXISTS (SELECT FROM ${table})`)
    })
  const tryTake = async (run: RunStatement): Promise<boolean> =>
    (await run(take, [holder, quoteName(place.schema)])).rowCount === 1
  return {
    take: (run: RunStatement): Promise<boolean> =>
      tryTake(run).catch(async (thrown: unknown) => {
        if (!isUndefined(thrown)) throw thrown
        await create(run)
        return tryTake(run)
      }),
    async giveBack(run: RunStatement): Promise<void> {
      await run(`UPDATE ${table} SET until = '-infinity' WHERE holder = $1`, [holder])
    },
  }
}

/** Milliseconds between checks while another process has the right to build. */
const LOOK = 200

/** Work that creates or drops structures. */
type StructureWork = (run: RunStatement) => Promise<void>

/**
 * Runs the work that `findNext` finds, again and again until it finds none. One process at a time runs such work,
 * while other processes write documents. Resolves when no work is left, even if another process has done it.
 */
async function workInTurn(
  use: Connections['use'],
  place: DatabaseSchema,
  findNext: (run: RunStatement) => Promise<StructureWork | undefined>,
): Promise<void> {
  const right = createBuildRight(place)
  let isHeld = false
  try {
    for (;;) {
      const next = await use(({ run }) => findNext(run), {})
      if (!next) return
      const wasHeld = isHeld
      isHeld = await use(({ run }) => right.take(run), {})
      // The work is run only if it was found while this process had the right. Otherwise another process may have
      // done it.
      if (isHeld && wasHeld) await use(({ run }) => next(run), {}, { mayBeLong: true, mayKeepAlive: true })
      else if (!isHeld) await pause(LOOK)
    }
  } finally {
    // If returning the right fails, it expires.
    if (isHeld) await use(({ run }) => right.giveBack(run), {}).catch(() => {})
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
    const [found] = (await run(`${findIndexes(place)} UNION ALL ${findElements(place)}`, values)).rows
    return found && ((run) => drop(run, place, found))
  })
}

/** Returns the name of the table that records structures. */
const recordsOf = ({ engine }: DatabaseSchema): string => engine.dialect.structures.table

/** Returns the name of its column with the collection of a structure. */
const ownerOf = ({ engine }: DatabaseSchema): string => engine.dialect.structures.owner()

/** Changes the name under which a structure is recorded. Returns false if the structure is not recorded. */
const rename = async (
  run: RunStatement,
  place: DatabaseSchema,
  [from, to]: readonly [from: string, to: string],
): Promise<boolean> =>
  (await run(`UPDATE ${recordsOf(place)} SET name = $1 WHERE name = $2`, [to, from])).rowCount > 0

/** Records that a structure is being built. */
async function noteBuilding(run: RunStatement, place: DatabaseSchema, structure: Structure): Promise<void> {
  const { dialect } = place.engine
  const building = { ...structure, name: nameWhileBuilt(structure.name) }
  const isNoted =
    (await rename(run, place, [structure.name, building.name])) ||
    (await rename(run, place, [building.name, building.name]))
  if (isNoted) return
  const { text, values } = writeStatement(dialect, (bind) => noteStructure(dialect, building, bind))
  await run(text, values)
}

/** Deletes the record of a structure. */
const forget = (run: RunStatement, place: DatabaseSchema, name: string): Promise<unknown> =>
  run(`DELETE FROM ${recordsOf(place)} WHERE name = $1`, [name])

const findIndexes = (place: DatabaseSchema): string =>
  `SELECT indexname::text AS name, ${ownerOf(place)} AS collection, bound, 'false' AS "isOfElements" FROM ${recordsOf(place)} JOIN pg_indexes ON schemaname = $1 AND indexname = replace(name, $2, '')
WHERE ${ownerOf(place)} = ANY($3) AND NOT indexname = ANY($4) AND replace(indexdef, '"', '') LIKE '%''string''::text THEN (%' AND replace(indexdef, '"', '') NOT LIKE '%sha256(%'`

/** Selects the tables of elements that contain strings. */
const findElements = (place: DatabaseSchema): string =>
  `SELECT relname::text, ${ownerOf(place)}, bound, 'true' FROM ${recordsOf(place)} JOIN pg_class ON relname = replace(name, $2, '') AND relnamespace = quote_ident($1)::regnamespace
WHERE ${isNamedElements('relname::text')} AND ${ownerOf(place)} = ANY($3) AND NOT relname = ANY($4) AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname <> '${ENTRY_ID}' AND attnum > 0 AND atttypid = 'text'::regtype)`

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
  await run(`DELETE FROM ${recordsOf(place)} WHERE name LIKE $1`, [`%${name}`])
}

/**
 * The advice if a server rejects a connection, by error code. The message of the server already names the database
 * and the role.
 */
const REFUSED: readonly (readonly [code: RegExp, advice: string])[] = [
  [/^28/, 'correct the user and the password of the connection, or allow the role to connect in pg_hba.conf'],
  [/^3D/, 'create the database, or correct its name in the connection'],
  [/^42501/, 'grant the role the CONNECT privilege on the database'],
  [/^53300/, 'raise max_connections of the server, or reduce the number of connections of its clients'],
]

/** Returns an error that tells the operator why a schema could not be opened. */
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
    return unavailable(
      explained(thrown, 'connect to the primary, because this server accepts no writes: it may be a standby'),
    )
  if (isLost(thrown)) return unavailable(thrown)
  return (isDenied(thrown) || lacksLanguage(thrown)) && use ? explainDenied(use, schema, thrown) : thrown
}

const explained = (cause: unknown, advice: string): Error =>
  new Error(`${messageOf(cause)}; ${advice}`, { cause })

/**
 * Explains which privileges a role lacks. The message contains the name of the role, which the server's message
 * omits.
 */
async function explainDenied(use: Connections['use'], schema: string, thrown: unknown): Promise<unknown> {
  const ask = 'SELECT quote_ident(current_user) AS role, quote_ident(current_database()) AS database'
  const { rows } = await use(({ run }) => run(ask), {}).catch(() => ({ rows: [] }))
  const [{ role = 'the role', database = 'the database' } = {}] = rows
  const name = quoteName(schema)
  return new UnusableStorage(
    `the role ${role} lacks privileges to open the schema ${name} of the database ${database} (${messageOf(thrown)}). Let a role that has them either run CREATE SCHEMA IF NOT EXISTS ${name} AUTHORIZATION ${role}, or run GRANT USAGE, CREATE ON SCHEMA ${name} TO ${role} and make ${role} the owner of the tables in the schema. For an index over an array, ${role} also needs USAGE ON LANGUAGE plpgsql. Or let that role start the service once, and give ${role} only what it needs with migrate: false: USAGE on the schema, and SELECT, INSERT, UPDATE and DELETE on its tables`,
    thrown,
  )
}

/** Reads which of the wanted structures are missing or invalid: all of them if the schema does not exist. */
const readMissing = async (
  run: RunStatement,
  place: DatabaseSchema,
  wanted: readonly Structure[],
): Promise<readonly Structure[]> => lacking(wanted, namesOf(await readRecorded(run, place, wanted)))

/**
 * Reads all recorded structures except invalid indexes; none if the schema does not exist. Rejects if this role may
 * not read the table of a wanted structure.
 */
async function readRecorded(
  run: RunStatement,
  place: DatabaseSchema,
  wanted: readonly Structure[],
): Promise<readonly Recorded[]> {
  const placed = placedIn(place)
  const isOfElements = isNamedElements('name')
  const tables = Object.fromEntries(wanted.map((one) => [one.collection, tableOf(one, place.engine.dialect)]))
  const owner = `to_regclass($1::json ->> ${ownerOf(place)})`
  const table = `CASE WHEN ${isOfElements} THEN ${placed('name')} ELSE ${owner} END`
  const isValid = `CASE WHEN ${isOfElements} THEN ${writeAreKept(place, 'name', owner)} ELSE (SELECT indisvalid FROM pg_index WHERE indexrelid = ${placed('name')}) END`
  // For a table that was dropped by hand, the privilege is NULL.
  const reading = run(
    `SELECT name, ${ownerOf(place)} AS collection, bound, has_table_privilege(${table}, 'SELECT')::text AS "mayRead", current_setting('server_encoding') AS encoding, (${isValid})::text AS "isValid" FROM ${recordsOf(place)}`,
    [JSON.stringify(tables)],
  )
  const { rows } = await reading.catch((thrown: unknown) => {
    if (!isUndefined(thrown)) throw explainRecorded(place.engine, thrown)
    return { rows: [] }
  })
  for (const { name, collection, mayRead, encoding } of rows) {
    if (encoding !== 'UTF8') throw wrongEncoding(encoding)
    if (mayRead === 'false' && wanted.some((one) => one.name === name))
      throw new UnusableStorage(
        `the role of the connection may not read the table of ${collection} in the schema ${place.schema}; let the owner of the schema grant it SELECT, INSERT, UPDATE and DELETE on all tables of the schema`,
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

/**
 * Builds the SQL condition that a table of elements exists and its triggers are enabled. `documents` is an expression
 * for the table of its documents.
 */
function writeAreKept(place: DatabaseSchema, name: string, documents: string): string {
  const placed = placedIn(place)
  const triggers = `SELECT count(*) = ${TRIGGERS} FROM pg_trigger WHERE tgrelid = ${documents} AND tgenabled IN ('O', 'A') AND starts_with(tgname::text, ${name} || '_${markOf(place.schema)}_')`
  return `${placed(name)} IS NOT NULL AND (${triggers})`
}

/** Whether a table of elements exists and its triggers are enabled. */
async function areKept(run: RunStatement, place: DatabaseSchema, structure: Structure): Promise<boolean> {
  const text = `SELECT (${writeAreKept(place, '$1::text', 'to_regclass($2)')})::text AS "areKept"`
  const [found] = (await run(text, [structure.name, tableOf(structure, place.engine.dialect)])).rows
  return found?.areKept === 'true'
}

/** Creates the error for a database with another encoding than UTF-8. */
const wrongEncoding = (encoding: unknown): Error =>
  new UnusableStorage(
    `the database has the encoding ${encoding}, in which strings are not sorted as in UTF8; create a database with ENCODING 'UTF8'`,
  )

/**
 * The maximum number of documents that one transaction adds to a table of elements, and of transactions in one step.
 */
const BATCH = 200
const BATCHES = 25

/**
 * Lock timeout, and pause before the retry, in milliseconds. The timeout is short because writes of other processes
 * queue up while a transaction waits here for a lock.
 */
const PATIENCE = 100
const PAUSE = 200

const BEGIN = `${BEGIN_STRUCTURES}; SET LOCAL lock_timeout = '${PATIENCE}ms'`

/**
 * Creates the function that runs one step of building a table of elements while other processes write. After the last
 * step, the table is recorded as built. The first step creates a table with triggers, which keep it up to date with new
 * writes. The other steps add the elements of stored documents, in the order of `_id`. Each transaction locks its
 * documents until it ends. Adding a document twice changes nothing, so a process that resumes the work of another
 * process can begin at the first document.
 */
function createFillElements(place: DatabaseSchema) {
  /** The `_id` of the last document whose entries were added, by the name of the table. */
  const done = new Map<string, string>()

  const begin = (run: RunStatement, structure: Structure): Promise<void> =>
    inTransaction(run, BEGIN, async () => {
      const { create, drop } = elementsOf(place, structure)
      await noteBuilding(run, place, structure)
      if (await areKept(run, place, structure)) return
      for (const statement of [...drop, ...create]) await run(statement)
    })

  /** Adds the entries of one batch of documents. Returns whether there are more documents. */
  const addBatch = async (run: RunStatement, structure: Structure): Promise<boolean> => {
    const { fillSome } = elementsOf(place, structure)
    const ids = await inTransaction(run, BEGIN, async () => {
      const { rows } = await run(
        `SELECT _id FROM ${place.engine.dialect.table(structure.collection)} WHERE _id > $1 ORDER BY _id LIMIT ${BATCH} FOR NO KEY UPDATE`,
        [done.get(structure.name) ?? ''],
      )
      const ids = rows.map(({ _id }) => String(_id))
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

  return async (run: RunStatement, structure: Structure): Promise<void> => {
    try {
      await take(run, structure)
    } catch (thrown) {
      if (isLockTimeout(thrown)) return pause(PAUSE)
      const explained = explainStructure(place.engine, structure, thrown)
      if (!explained) throw thrown
      await dropElements(run, place, structure)
      throw explained
    }
  }
}

/** Drops a table of elements with its triggers. */
async function dropElements(
  run: RunStatement,
  place: DatabaseSchema,
  { name, collection }: Pick<Structure, 'name' | 'collection'>,
): Promise<void> {
  const { drop } = elementsOf(place, { name, collection, fields: [] })
  for (;;) {
    try {
      return await inTransaction(run, BEGIN, async () => {
        for (const statement of drop) await run(statement)
        for (const noted of [name, nameWhileBuilt(name)]) await forget(run, place, noted)
      })
    } catch (thrown) {
      if (!isLockTimeout(thrown)) throw thrown
      await pause(PAUSE)
    }
  }
}

/** Returns a function that checks whether a structure is a missing table, or belongs to a missing table. */
const isOfNewTable = (missing: readonly Structure[]): ((structure: Structure) => boolean) => {
  const tables = new Set(missing.filter((one) => !isIndex(one)).map(({ collection }) => collection))
  return ({ collection }) => tables.has(collection)
}

/**
 * Builds the missing indexes of existing tables, one after another, while other processes write. Only one process at
 * a time builds. Resolves when all indexes exist, even if other processes built them. A unique index is not dropped
 * again, because other processes may rely on it. So unique indexes are built after all steps that can fail, and a
 * failed start leaves no new unique index in force.
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
  // `count(DISTINCT …)` sorts the values instead of hashing them, so that its memory does not grow with the
  // documents.
  const { rows } = await run(
    `SELECT (count(*) > count(DISTINCT (${values.join(', ')})))::text AS "hasTwins" FROM ${dialect.table(structure.collection)} WHERE ${values.map((value) => `${value} IS NOT NULL`).join(' AND ')}`,
  )
  if (rows[0]?.hasTwins === 'true') throw notUnique(structure)
}

/**
 * Returns the statements that create an index, to be run outside of a transaction. Other processes can write meanwhile,
 * except to the documents of an index of elements.
 */
const concurrently = (structure: Structure): string => {
  const sql = structure.sql.join(';\n')
  return isOfElements(structure) ? `BEGIN;\n${sql};\nCOMMIT` : sql.replace('INDEX', 'INDEX CONCURRENTLY')
}

/** Builds one index. An incomplete index that an interrupted build left is replaced. */
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
 * Returns the layout of the schema. If the schema has none, the first process creates the schema and the table that
 * records the layout. Without `migrate`, nothing is created, and the result is the layout that a process with
 * `migrate` would record.
 */
export async function settleLayout(
  use: Connections['use'],
  schema: string,
  plans: readonly CollectionPlan[],
  migrate: boolean,
): Promise<Layout> {
  const names = plans.map(({ name }) => name)
  const { layout, isRecorded } = await use(({ run }) => readLayout(run, schema, names), {})
  if (isRecorded || !migrate) return layout
  const place = { schema, engine: createPostgresEngine(schema, undefined, () => layout) }
  const settle = (run: RunStatement): Promise<Layout> =>
    inTransaction(run, BEGIN_STRUCTURES, async () => {
      // While a process holds this lock, it never waits for another process, not even for an index build.
      await lockStructures(run, place)
      await prepareSchema(run, place)
      return (await readLayout(run, schema, names)).layout
    })
  return use(({ run }) => settle(run), {}, { mayKeepAlive: true })
}

/**
 * Creates the missing tables and indexes of the plans in a schema with a layout, and ends the logs of collections that
 * the plans do not log. If nothing is missing, this takes one SELECT. One process at a time creates new tables, in one
 * transaction with their indexes. Indexes of existing tables are built while other processes write. Without `migrate`,
 * nothing is created: if something is missing, the function rejects with an error that contains the missing SQL.
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
  const present = namesOf(await use(({ run }) => readRecorded(run, place, wanted), {}))
  const missing = lacking(wanted, present)
  const lapses = findLapses(present)
  if (missing.length === 0 && lapses.length === 0) return
  if (!migrate) throw new UnusableStorage(describeMissing(place, missing, lapses))
  const isNew = isOfNewTable(missing)
  // Steps that can fail because of existing documents come first, so that a failed start leaves no new table whose
  // constraints are in force.
  if (!missing.every(isNew)) await buildIndexes(use, place, wanted)
  if (lapses.length > 0 || missing.some(isNew))
    await use(({ run }) => createNew(run, place, wanted, findLapses), {}, { mayKeepAlive: true })
  await buildIndexes(use, place, wanted)
}

/** See `StorageAdapter.leftUnique`. */
export async function readLeft(
  use: Connections['use'],
  place: DatabaseSchema,
  plans: readonly CollectionPlan[],
  options: CallOptions = {},
): Promise<readonly LeftIndex[]> {
  const wanted = structuresOf(plans, place.engine.dialect)
  return findLeft(wanted, await use(({ run }) => readRecorded(run, place, wanted), options))
}

/**
 * Drops unique indexes while other processes write (`StorageAdapter.dropUnique`). An index whose drop was interrupted is
 * recorded as being built, so it is found again.
 */
export const dropUnique = (
  use: Connections['use'],
  place: DatabaseSchema,
  { collection, fields }: Pick<LeftIndex, 'collection' | 'fields'>,
): Promise<void> =>
  workInTurn(use, place, async (run) => {
    const [found] = findUnique(await readRecorded(run, place, []), collection, fields)
    if (!found) return undefined
    const name = found.name.replace(nameWhileBuilt(''), '')
    const building = nameWhileBuilt(name)
    return async (run) => {
      await rename(run, place, [name, building])
      await run(`DROP INDEX CONCURRENTLY IF EXISTS ${quoteName(place.schema)}.${quoteName(name)}`)
      await forget(run, place, building)
    }
  })

/** Ends logs, and creates the missing structures except indexes of existing tables. */
const createNew = (
  run: RunStatement,
  place: DatabaseSchema,
  wanted: readonly Structure[],
  findLapses: (present: ReadonlySet<unknown>) => readonly string[],
): Promise<void> =>
  inTransaction(run, BEGIN_STRUCTURES, async () => {
    // While a process holds this lock, it never waits for another process, not even for an index build.
    await lockStructures(run, place)
    const present = namesOf(await readRecorded(run, place, wanted))
    for (const statement of findLapses(present)) await run(statement)
    const missing = lacking(wanted, present)
    await drive(run, createStructures(place.engine, missing.filter(isOfNewTable(missing))))
  })

const createSchema = ({ schema }: DatabaseSchema): string =>
  `CREATE SCHEMA IF NOT EXISTS ${quoteName(schema)}`

const createTable = (place: DatabaseSchema): string =>
  `CREATE TABLE IF NOT EXISTS ${recordsOf(place)} (position integer GENERATED ALWAYS AS IDENTITY, name text NOT NULL, ${ownerOf(place)} text NOT NULL, bound text NOT NULL)`

async function prepareSchema(run: RunStatement, place: DatabaseSchema): Promise<void> {
  const { rows } = await run(
    // Reads `pg_namespace` as a table, because looking up a schema by its name may use a cache from before the wait
    // for the lock.
    'SELECT current_setting($1) AS encoding, EXISTS (SELECT FROM pg_namespace WHERE nspname = $2::text)::text AS exists',
    ['server_encoding', place.schema],
  )
  const [found] = rows
  if (found?.encoding !== 'UTF8') throw wrongEncoding(found?.encoding)
  // A role that may not create schemas may still use an existing one.
  if (found.exists !== 'true') await run(createSchema(place))
  await run(createTable(place))
}

/** Returns the message with the missing SQL, which a role with the necessary privileges can run. */
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
  return `the tables and indexes of the database do not fit the configuration, and with migrate: false the service does not change them; run these statements with a role that may change them:\n${all.join(';\n')};`
}
