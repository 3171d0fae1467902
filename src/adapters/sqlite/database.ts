import { bounds } from '../../core/bounds.js'
import { type Filter, isNothing } from '../../core/filter/filter.js'
import { CACHES } from '../../core/kept/caches.js'
import { inOneSlice } from '../../core/slices.js'
import type {
  Aggregated,
  AggregateQuery,
  ChangePage,
  CollectionPlan,
  LeftIndex,
  Listed,
  ListQuery,
  MaybePromise,
  Snapshot,
  WriteOptions,
  WriteResult,
  WriteStep,
} from '../../core/storage.js'
import { LogPlans } from '../log/log-plans.js'
import { createNotifier } from '../log/notifier.js'
import { createStructures, explainRecorded } from '../sql/create-structures.js'
import { quoteName, STRUCTURES } from '../sql/dialect.js'
import type { IdSearch } from '../sql/engine.js'
import { findLeft, findUnique, namesOf, type Recorded } from '../sql/find-left.js'
import { pinnedIds } from '../sql/pinned-ids.js'
import { lacking, lapseLogging, structuresOf } from '../sql/structures.js'
import { tableNameOf } from '../sql/table-names.js'
import { askOn } from './connection/ask-on.js'
import { type Connection, openReader, openWriter, SMALL_CACHE } from './connection/connection.js'
import { noteOpenFiles, type OpenFiles, UNWATCHED } from './connection/open-files.js'
import { type Abortable, Readers, type SeatedRead } from './connection/readers.js'
import { createTemporaryFile } from './connection/temporary-file.js'
import { whileBusy } from './connection/while-busy.js'
import type { DriverName } from './drivers/driver.js'
import { loadDriver } from './drivers/load-driver.js'
import { displaced } from './faults.js'
import { IS_TABLE } from './is-table.js'
import { type LogQuery, LogWriter, readChanges } from './log/sqlite-log.js'
import { groupInSlices } from './read/aggregate.js'
import { KeptDocuments } from './read/kept-documents.js'
import { createPathFinder, type FindPath } from './read/path-finder.js'
import {
  type Batch,
  countDirectly,
  countInSlices,
  countUpTo,
  type ListRest,
  listDirectly,
  listInSlices,
  listKept,
  readBatch,
} from './read/read-list.js'
import {
  MAX_BOUNDED,
  type PathQuery,
  type ReadIndex,
  type ReadPath,
  readIndexesOf,
} from './read/read-path.js'
import { soughtStatement } from './read/read-statements.js'
import { openSnapshot } from './read/snapshot.js'
import { sqliteDialect } from './sqlite-dialect.js'
import { sqliteEngine } from './sqlite-engine.js'
import { States } from './write/states.js'
import { type Surveyor, WriteQueue, writeSurveyed } from './write/write-queue.js'

const TABLE = sqliteDialect.structures.table

/**
 * Creates the missing tables and indexes of the plans, and ends the logs that the plans no longer need, in one
 * transaction. Takes no lock if there is nothing to change. Returns the names of all existing structures.
 */
function createMissing(connection: Connection, plans: readonly CollectionPlan[]): ReadonlySet<unknown> {
  const wanted = structuresOf(plans, sqliteDialect)
  const present = namesOf(readRecorded(connection))
  const isWhole = lacking(wanted, present).length === 0 && renamed(connection, plans).length === 0
  if (isWhole && lapseLogging(plans, present, sqliteDialect).length === 0) return present
  connection.execute('BEGIN IMMEDIATE')
  try {
    connection.execute(
      `CREATE TABLE IF NOT EXISTS ${TABLE} (name TEXT NOT NULL PRIMARY KEY, collection TEXT NOT NULL, bound TEXT NOT NULL)`,
    )
    for (const statement of renamed(connection, plans)) connection.execute(statement)
    const present = namesOf(readRecorded(connection))
    for (const statement of lapseLogging(plans, present, sqliteDialect)) connection.execute(statement)
    const missing = lacking(wanted, present)
    inOneSlice((slices) => createStructures(sqliteEngine, missing)(askOn({ connection, slices })))
    connection.execute('COMMIT')
    return new Set([...present, ...missing.map(({ name }) => name)])
  } catch (thrown) {
    if (connection.isInTransaction) connection.execute('ROLLBACK')
    throw thrown
  }
}

/** Returns the name that versions before 0.2 gave the table of a collection. */
const formerNameOf = (collection: string): string => `c_${collection}`

/** Returns the statements that rename tables whose names come from earlier versions. */
const renamed = (connection: Connection, plans: readonly CollectionPlan[]): readonly string[] =>
  plans.flatMap(({ name }) => {
    const [former, now] = [formerNameOf(name), tableNameOf(name)]
    const isThere = former !== now && connection.first(IS_TABLE, [former]) === 1
    return isThere ? [`ALTER TABLE ${quoteName(former)} RENAME TO ${quoteName(now)}`] : []
  })

function readRecorded(connection: Connection): readonly Recorded[] {
  const isThere = connection.first('SELECT count(*) FROM sqlite_schema WHERE name = ?', [STRUCTURES]) === 1
  if (!isThere) return []
  const text = `SELECT json_object('name', name, 'collection', collection, 'bound', bound) FROM ${TABLE}`
  try {
    return connection.all(text, []).map((row) => JSON.parse(String(row)) as Recorded)
  } catch (thrown) {
    throw explainRecorded(sqliteEngine, thrown)
  }
}

/** See `StorageAdapter.leftUnique`. */
export const readLeft = (connection: Connection, plans: readonly CollectionPlan[]): readonly LeftIndex[] =>
  findLeft(structuresOf(plans, sqliteDialect), readRecorded(connection))

/** Drops unique indexes in one transaction. Returns their names. */
function dropUnique(
  connection: Connection,
  collection: string,
  fields: readonly string[],
): ReadonlySet<string> {
  connection.execute('BEGIN IMMEDIATE')
  try {
    const found = namesOf(findUnique(readRecorded(connection), collection, fields))
    for (const name of found) {
      connection.execute(`DROP INDEX IF EXISTS ${quoteName(name)}`)
      connection.execute(`DELETE FROM ${TABLE} WHERE name = '${name}'`)
    }
    connection.execute('COMMIT')
    return found
  } catch (thrown) {
    if (connection.isInTransaction) connection.execute('ROLLBACK')
    throw thrown
  }
}

/** The maximum number of simultaneous long reads. */
const CONNECTIONS = 4

/** The steps that a read of unknown length may take without a pause, before it continues in slices: about 0.5 ms. */
const ATTEMPT = 10_000

/** The milliseconds between two polls for the writes of other processes. */
const LOOK = 200

const IN_MEMORY = ':memory:'

/**
 * Opens a database file. With `isAgain`, the file must exist, because it replaces a file that was open before, and log
 * positions from the former file are reported as gaps.
 */
export async function openDatabase(
  file: string,
  {
    cache,
    driver: name,
    isAgain = false,
  }: { readonly cache: number; readonly driver: DriverName | undefined; readonly isAgain?: boolean },
): Promise<Database> {
  const temporary = file === IN_MEMORY ? createTemporaryFile() : undefined
  const remove = (): void => temporary?.remove()
  const opened: Connection[] = []
  try {
    const isLasting = temporary === undefined
    if (isLasting && ['', IN_MEMORY].includes(file.trim()))
      throw new Error(`${file} is not the path of a file; use ${IN_MEMORY} for a temporary file`)
    const driver = await loadDriver(name)
    const options = { cache, driver }
    const writer = await openWriter(temporary?.file ?? file, { ...options, isLasting, mustExist: isAgain })
    opened.push(writer)
    const { file: path } = writer
    while (opened.length < 2 + CONNECTIONS) opened.push(await openReader(path, options))
    const [, reserve = writer, ...others] = opened
    const files = isLasting ? noteOpenFiles(path) : UNWATCHED
    return new Database({ writer, reserve, others, files, isAgain, remove })
  } catch (thrown) {
    for (const one of opened) one.close()
    remove()
    throw thrown
  }
}

const isBounded = ({ most, counted = most }: ReadPath): boolean => counted <= MAX_BOUNDED

interface DatabaseParts {
  readonly writer: Connection
  /** Serves short reads while a transaction of the writer is open. */
  readonly reserve: Connection
  /** The connections for long reads. */
  readonly others: readonly Connection[]
  readonly files: OpenFiles
  readonly isAgain: boolean
  remove(): void
}

/** An open database file. One connection writes and serves short reads, and others serve long reads. */
export class Database {
  /** The path of the file. */
  readonly file: string
  readonly #writer: Connection
  readonly #reserve: Connection
  readonly #readers: Readers
  readonly #files: OpenFiles
  readonly #isAgain: boolean
  readonly #remove: () => void
  readonly #kept: KeptDocuments
  readonly #logPlans = new LogPlans()
  readonly #notifier = createNotifier(LOOK)
  readonly #states: States
  readonly #queue: WriteQueue
  readonly #surveyor: Surveyor
  readonly #indexes = new Map<string, readonly ReadIndex[]>()
  readonly #finders = new Map<string, FindPath>()
  readonly #shortConnection = (): Connection => (this.#writer.isInTransaction ? this.#reserve : this.#writer)
  #givenUp: Promise<void> | undefined

  constructor({ writer, reserve, others, files, isAgain, remove }: DatabaseParts) {
    this.file = writer.file
    this.#writer = writer
    this.#reserve = reserve
    this.#readers = new Readers(others)
    this.#files = files
    this.#isAgain = isAgain
    this.#remove = remove
    this.#kept = new KeptDocuments(writer)
    this.#states = new States(writer)
    this.#queue = new WriteQueue({
      connection: writer,
      engine: {
        ...sqliteEngine,
        isSpread: (collection) => this.#isSpread(collection),
        seek: (collection, filter) => this.#seek(collection, filter),
      },
      files,
      log: new LogWriter(writer, this.#logPlans, this.#notifier.notify),
      kept: this.#kept,
      states: this.#states,
    })
    this.#surveyor = {
      queue: this.#queue,
      isLong: (collection, filter) => this.#isLong(collection, filter),
      listIds: (collection, query) => this.#listIds(collection, query),
    }
  }

  /**
   * Whether the file and its log were at their paths at the last check. If they were not, all other methods may fail.
   */
  isInPlace(): boolean {
    return this.#files.areInPlace()
  }

  /** Whether any file is at the path now. */
  isThere(): boolean {
    return this.#files.isThere()
  }

  async create(plans: readonly CollectionPlan[]): Promise<void> {
    await this.#queue.drain()
    const present = await whileBusy(() => createMissing(this.#writer, this.#logPlans.joined(plans)))
    this.#logPlans.add(plans)
    for (const plan of plans) {
      const known = [...(this.#indexes.get(plan.name) ?? []), ...readIndexesOf(plan, present)]
      this.#indexes.set(plan.name, [...new Map(known.map((index) => [index.name, index])).values()])
      this.#finders.set(plan.name, this.#finderOf(plan.name))
    }
  }

  /** See `StorageAdapter.leftUnique`. */
  leftUnique(plans: readonly CollectionPlan[]): readonly LeftIndex[] {
    return readLeft(this.#shortConnection(), plans)
  }

  /** See `StorageAdapter.dropUnique`. */
  async dropUnique(collection: string, fields: readonly string[]): Promise<void> {
    await this.#queue.drain()
    const dropped = await whileBusy(() => dropUnique(this.#writer, collection, fields))
    const left = this.#indexes.get(collection)?.filter(({ name }) => !dropped.has(name)) ?? []
    this.#indexes.set(collection, left)
    this.#finders.set(collection, this.#finderOf(collection))
  }

  list(collection: string, query: ListQuery): MaybePromise<Listed> {
    if (isNothing(query.filter)) return []
    const writer = this.#writer
    const plan = { collection, query, path: this.#choose(collection, query) }
    // Reads must not see uncommitted writes, so the writer is not used for reading during a transaction.
    const found =
      !CACHES.documents.isOn || writer.isInTransaction ? undefined : listKept(writer, this.#kept, plan)
    return (
      found ??
      listDirectly(this.#shortConnection(), plan) ??
      this.#search((seat) => listInSlices(seat, plan), query, isBounded(plan.path))
    )
  }

  /** Reads the next batch of the documents that a list did not include, but named in its `rest`. */
  listNext(rest: ListRest, query: Abortable): MaybePromise<Batch> {
    return readBatch(this.#shortConnection, rest, () => query.signal)
  }

  count(collection: string, filter: Filter, query: Abortable): MaybePromise<number> {
    if (isNothing(filter)) return 0
    const path = this.#choose(collection, { filter, sort: [], limit: null })
    const plan = { collection, path }
    return (
      countDirectly(this.#shortConnection(), plan) ??
      this.#search((seat) => countInSlices(seat, plan), query, isBounded(path))
    )
  }

  aggregate(collection: string, query: AggregateQuery): MaybePromise<Aggregated> {
    const { filter } = query
    if (isNothing(filter)) return NO_GROUPS
    const path = this.#choose(collection, { filter, sort: [], limit: null })
    return this.#search((seat) => groupInSlices(seat, { collection, query, path }), query, isBounded(path))
  }

  write(steps: readonly WriteStep[], options: WriteOptions): Promise<WriteResult> {
    return writeSurveyed(this.#surveyor, steps, options)
  }

  /** See `StorageAdapter.state`. */
  state(collections: readonly string[]): string | undefined {
    return this.#states.find(collections)
  }

  /** Reads a page of the log. If there are no changes yet, waits for them as long as the query allows. */
  changes(query: Omit<LogQuery, 'files'>): Promise<ChangePage> {
    return this.#notifier.readWhenNotified(async () => {
      if (!this.#files.areInPlace()) throw displaced()
      const asked = { ...query, files: { name: this.#files.name, areOthers: this.#isAgain } }
      return this.#search((seat) => readChanges(seat, asked), query)
    }, query)
  }

  /** Opens a snapshot on a connection of its own. */
  async snapshot(): Promise<Snapshot> {
    const { driver } = this.#writer
    const connection = await openReader(this.file, { cache: SMALL_CACHE, driver })
    const snapshot = await openSnapshot(connection).catch((thrown: unknown) => {
      connection.close()
      throw thrown
    })
    return {
      ...snapshot,
      async close() {
        connection.close()
      },
    }
  }

  async close(): Promise<void> {
    await this.#queue.drain()
    if (!this.#files.checkNow()) return this.abandon()
    await this.#readers.close()
    this.#reserve.close()
    this.#writer.close()
    this.#remove()
  }

  /** Closes the database without changing the files that are at its paths now. */
  abandon(): Promise<void> {
    this.#givenUp ??= this.#giveUp().catch((thrown: unknown) => {
      this.#givenUp = undefined
      throw thrown
    })
    return this.#givenUp
  }

  async #giveUp(): Promise<void> {
    // Waiting writes are rejected, and readers that wait for changes read again.
    await this.#queue.drain()
    this.#notifier.notify()
    await this.#readers.close(displaced())
    this.#files.putAsideLog()
    // The read-only connection closes last: if the last connection can write, SQLite checkpoints the log and then
    // deletes the file at the log's path, although that file may belong to the database that replaced this one.
    this.#writer.close()
    this.#reserve.close()
  }

  #finderOf(collection: string): FindPath {
    return createPathFinder(this.#indexes.get(collection) ?? [], (path, most) =>
      countUpTo(this.#shortConnection(), { collection, path }, most),
    )
  }

  #choose(collection: string, query: PathQuery): ReadPath {
    return (this.#finders.get(collection) ?? this.#finderOf(collection))(query)
  }

  #isSpread(collection: string): boolean {
    return this.#indexes.get(collection)?.some(isOfElements) === true
  }

  #seek(collection: string, filter: Filter): IdSearch | undefined {
    // A filter that lists the ids of its documents needs no search.
    if (!this.#isSpread(collection) || pinnedIds(filter)) return undefined
    const path = this.#choose(collection, { filter, sort: [], limit: null })
    return (path.ranges ?? [path]).some(isOfElements)
      ? { ids: soughtStatement(collection, path), isAnswered: path.rest.length === 0 }
      : undefined
  }

  #isLong(collection: string, filter: Filter): boolean {
    if (isNothing(filter)) return false
    const { rest, most } = this.#choose(collection, { filter, sort: [], limit: 1 })
    return rest.length > 0 && most > MAX_BOUNDED
  }

  async #listIds(collection: string, query: ListQuery): Promise<readonly string[]> {
    const found = await this.list(collection, { ...query, bytes: 1 })
    return [...found.map(({ _id }) => _id), ...(found.rest ?? [])]
  }

  #search<T>(reading: SeatedRead<T>, query: Abortable, isBounded = false): MaybePromise<T> {
    const steps = isBounded ? bounds.slice : ATTEMPT
    return this.#readers.read({ short: this.#shortConnection(), steps }, reading, query)
  }
}

const NO_GROUPS: Aggregated = { groups: [], isCut: false }

const isOfElements = ({ table }: { readonly table?: string }): boolean => table !== undefined
