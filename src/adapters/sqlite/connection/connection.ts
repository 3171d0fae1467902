import type BetterSqlite3 from 'better-sqlite3'
import { createBoundedMap } from '../../../core/kept/bounded-map.js'
import { CACHES } from '../../../core/kept/caches.js'
import type { Value } from '../../sql/dialect.js'
import type { DatabaseResult } from '../../sql/engine.js'
import { UnusableStorage } from '../../sql/faults.js'
import { whileBusy } from './while-busy.js'

/** The first SQLite version in which two connections that restart the log at the same time cannot corrupt the file. */
const SOUND = [3, 51, 3]

const isSound = (version: string): boolean => {
  const parts = version.split('.').map(Number)
  for (const [i, least] of SOUND.entries()) {
    const part = parts[i] ?? 0
    if (part !== least) return part > least
  }
  return true
}

/** Creates a function that receives the version of SQLite and warns, only once, if this version can corrupt a file. */
export function createVersionWarning(
  warn: (message: string, code: string) => void,
): (version: string) => void {
  let hasWarned = false
  return (version) => {
    if (hasWarned || isSound(version)) return
    hasWarned = true
    warn(
      `SQLite ${version} can corrupt a file that several connections write to; use ${SOUND.join('.')} or later: npm install better-sqlite3@latest`,
      'COLLECTION_SERVICE_SQLITE',
    )
  }
}

/** Emits the warning as a process warning. */
const warnOfVersion = createVersionWarning((message, code) => process.emitWarning(message, { code }))

/**
 * The maximum number of milliseconds for which a statement waits, and blocks this process, while another process
 * writes. Then the statement fails and is retried later.
 */
const PATIENCE = 20

/** The maximum number of prepared statements that a connection caches. */
const MAX_PREPARED = 256

/**
 * The size of a connection's page cache, in MiB. A cache is used instead of a memory-mapped file, because this process
 * would crash if another process truncated a mapped file.
 */
export const CACHE = 64

/** The size, in MiB, of the page cache of a connection that reads all documents once. */
export const SMALL_CACHE = 2

/** The number of pages of one step of a copy. A step takes some milliseconds. */
const COPIED = 1024

const setCache = (database: BetterSqlite3.Database, cache: number): void =>
  void database.pragma(`cache_size = -${cache * 1024}`)

/**
 * Opens a file for writing. A write is on disk before it is acknowledged (WAL, `synchronous=FULL`), and other processes
 * may use the file at the same time. Rejects with installation advice if `better-sqlite3` is missing.
 */
export async function openWriter(
  file: string,
  options: { readonly isLasting?: boolean; readonly mustExist?: boolean; readonly cache?: number } = {},
): Promise<Connection> {
  return open(file, { fileMustExist: options.mustExist === true }, async (database) => {
    // Retried here, because SQLite itself does not retry this statement if processes that open a new file block each
    // other.
    await whileBusy(() => database.pragma('journal_mode = WAL'))
    setCache(database, options.cache ?? CACHE)
    database.pragma(`synchronous = ${options.isLasting === false ? 'OFF' : 'FULL'}`)
    if (database.pragma('encoding', { simple: true }) !== 'UTF-8')
      throw new UnusableStorage(
        `the database ${file} does not store text as UTF-8, so strings would be sorted differently; use another file`,
      )
    warnOfVersion(String(database.prepare('SELECT sqlite_version()').pluck().get()))
  })
}

/** Opens a file for reading only. The file must already have been opened with `openWriter`. */
export const openReader = (file: string, cache: number): Promise<Connection> =>
  open(file, { readonly: true }, async (database) => {
    setCache(database, cache)
    // This read opens the log files now, before they can be renamed.
    await whileBusy(() => database.prepare('SELECT count(*) FROM sqlite_schema').get())
  })

/**
 * Opens an existing file for reading only and leaves it unchanged: its log is not checkpointed, and if it has no log,
 * no log remains afterwards.
 */
export const openExisting = (file: string, hasLog: boolean): Promise<Connection> =>
  open(file, hasLog ? { readonly: true } : { fileMustExist: true }, async (database) => {
    database.pragma('query_only = ON')
    setCache(database, SMALL_CACHE)
    await whileBusy(() => database.prepare('SELECT count(*) FROM sqlite_schema').get())
  })

/**
 * Opens an existing file that no other connection has open, and moves its log into it, so that it is one file.
 * Otherwise rejects with `SQLITE_BUSY`, and changes nothing.
 */
export const openAlone = (file: string): Promise<Connection> =>
  open(file, { fileMustExist: true }, async (database) => void database.pragma('journal_mode = DELETE'))

async function open(
  file: string,
  options: BetterSqlite3.Options,
  prepare: (database: BetterSqlite3.Database) => Promise<void>,
): Promise<Connection> {
  const Database = await importDriver()
  const database = new Database(file, { ...options, timeout: PATIENCE })
  try {
    await prepare(database)
    return new Connection(database)
  } catch (thrown) {
    database.close()
    throw thrown
  }
}

/** A synchronous connection to a database file. */
export class Connection {
  readonly #database: BetterSqlite3.Database
  readonly #prepared = createBoundedMap<string, BetterSqlite3.Statement<unknown[], unknown>>(
    CACHES.prepared,
    MAX_PREPARED,
  )
  /** The path of the file, or an empty string if there is no file. */
  readonly file: string

  constructor(database: BetterSqlite3.Database) {
    this.#database = database
    const [, , file] = database.prepare('PRAGMA database_list').raw().get() as readonly unknown[]
    this.file = String(file ?? '')
  }

  get isInTransaction(): boolean {
    return this.#database.inTransaction
  }

  /** Returns the first column of every row. */
  all(text: string, values: readonly Value[]): readonly unknown[] {
    return this.#prepare(text).all(...values.map(toStored))
  }

  /**
   * Iterates over the first column of every row. Until the iteration ends, the connection can neither write nor
   * execute.
   */
  iterate(text: string, values: readonly Value[]): IterableIterator<unknown> {
    return this.#prepare(text).iterate(...values.map(toStored))
  }

  /** Returns the first column of the first row. */
  first(text: string, values: readonly Value[]): unknown {
    return this.#prepare(text).get(...values.map(toStored))
  }

  /** Returns all columns of every row. */
  rows(text: string, values: readonly Value[]): readonly (readonly unknown[])[] {
    const rows = this.#prepare(text).raw()
    return rows.all(...values.map(toStored)) as readonly (readonly unknown[])[]
  }

  /** Returns all columns of the first row. */
  row(text: string, values: readonly Value[]): readonly unknown[] {
    const rows = this.#prepare(text).raw()
    return rows.get(...values.map(toStored)) as readonly unknown[]
  }

  /** Returns the first column of every row, and the number of changed rows. */
  ask(text: string, values: readonly Value[]): DatabaseResult {
    return text.startsWith('SELECT')
      ? { rows: this.all(text, values), changed: 0 }
      : { rows: [], changed: this.run(text, values) }
  }

  /** Returns the number of rows that the statement changed. */
  run(text: string, values: readonly Value[]): number {
    return this.#prepare(text).run(...values.map(toStored)).changes
  }

  /** Runs statements without values. */
  execute(text: string): void {
    this.#database.exec(text)
  }

  /**
   * Copies the file to a new file, as of the moment of the call. Other connections may write meanwhile. `onStep` is
   * called between steps, with the bytes that are copied and those of the file. If it throws, the copy ends.
   */
  async copyTo(file: string, onStep: (copied: number, all: number) => void): Promise<void> {
    const size = Number(this.first('PRAGMA page_size', []))
    // A transaction keeps the moment. Without one, the copy would begin again after each write of another process.
    this.execute('BEGIN')
    try {
      this.first('SELECT count(*) FROM sqlite_schema', [])
      await this.#database.backup(file, {
        progress({ totalPages, remainingPages }) {
          onStep((totalPages - remainingPages) * size, totalPages * size)
          return COPIED
        },
      })
    } finally {
      this.execute('ROLLBACK')
    }
  }

  close(): void {
    this.#database.close()
  }

  #prepare(text: string): BetterSqlite3.Statement<unknown[], unknown> {
    const known = this.#prepared.get(text)
    if (known) return known
    const statement = this.#database.prepare(text)
    if (statement.reader) statement.pluck()
    this.#prepared.set(text, statement)
    return statement
  }
}

/** Reads a number that changes with each commit of another connection to the file, but not with commits of this one. */
export const readDataVersion = (connection: Connection): unknown =>
  connection.first('PRAGMA data_version', [])

/** Converts a value for SQLite, which has no booleans. */
const toStored = (value: Value): unknown => (typeof value === 'boolean' ? Number(value) : value)

async function importDriver(): Promise<typeof BetterSqlite3> {
  try {
    return (await import('better-sqlite3')).default
  } catch (cause) {
    throw new Error(
      'the SQLite adapter needs the package better-sqlite3; install it: npm install better-sqlite3',
      { cause },
    )
  }
}
