import type BetterSqlite3 from 'better-sqlite3'
import { createBoundedMap } from '../../../core/kept/bounded-map.js'
import { CACHES } from '../../../core/kept/caches.js'
import type { Value } from '../../sql/dialect.js'
import type { DatabaseResult } from '../../sql/engine.js'
import { UnusableStorage } from '../../sql/faults.js'
import { whileBusy } from './while-busy.js'

/** In earlier versions, two connections that restart the log at once can corrupt the file. */
const SOUND = [3, 51, 3]

const isSound = (version: string): boolean => {
  const parts = version.split('.').map(Number)
  for (const [i, least] of SOUND.entries()) {
    const part = parts[i] ?? 0
    if (part !== least) return part > least
  }
  return true
}

/** Creates a function that warns once of a version of SQLite that can corrupt a file. */
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

/** A synchronous connection to a database file. */
export interface Connection {
  /** The first column of every row. */
  all(text: string, values: readonly Value[]): readonly unknown[]
  /** Iterates over the first column of every row; until it ends, the connection can neither write nor execute. */
  iterate(text: string, values: readonly Value[]): IterableIterator<unknown>
  /** The first column of the first row. */
  first(text: string, values: readonly Value[]): unknown
  /** All columns of every row. */
  rows(text: string, values: readonly Value[]): readonly (readonly unknown[])[]
  /** All columns of the first row. */
  row(text: string, values: readonly Value[]): readonly unknown[]
  /** The first column of every row, and the number of changed rows. */
  ask(text: string, values: readonly Value[]): DatabaseResult
  /** The number of rows that a statement changed. */
  run(text: string, values: readonly Value[]): number
  /** Runs statements without values. */
  execute(text: string): void
  readonly isInTransaction: boolean
  /** The path of the file; empty if there is none. */
  readonly file: string
  close(): void
}

/** Milliseconds for which a statement blocks while other processes write; after that it is retried later. */
const PATIENCE = 20

/** The most statements that a connection keeps prepared. */
const MAX_PREPARED = 256

/**
 * The page cache of a connection, in MiB. A cache and not a mapped file: if another process truncates a mapped file,
 * this process crashes.
 */
export const CACHE = 64

/** The page cache of a connection that reads a file of another process once, in MiB. */
const SMALL_CACHE = 2

const setCache = (database: BetterSqlite3.Database, cache: number): void =>
  void database.pragma(`cache_size = -${cache * 1024}`)

/**
 * Opens a file for writing. An acknowledged write is on disk (WAL, `synchronous=FULL`), and other processes may use
 * the file too. Rejects with installation advice if `better-sqlite3` is missing.
 */
export async function openWriter(
  file: string,
  options: { readonly isLasting?: boolean; readonly mustExist?: boolean; readonly cache?: number } = {},
): Promise<Connection> {
  return open(file, { fileMustExist: options.mustExist === true }, async (database) => {
    // Here SQLite does not wait by itself, and processes that open a new file block each other.
    await whileBusy(() => database.pragma('journal_mode = WAL'))
    setCache(database, options.cache ?? CACHE)
    database.pragma(`synchronous = ${options.isLasting === false ? 'OFF' : 'FULL'}`)
    if (database.pragma('encoding', { simple: true }) !== 'UTF-8')
      throw new UnusableStorage(
        `the file ${file} is not in UTF-8, so texts would be in another order; use another file`,
      )
    warnOfVersion(String(database.prepare('SELECT sqlite_version()').pluck().get()))
  })
}

/** Opens a file that `openWriter` has opened, for reading only. */
export const openReader = (file: string, cache: number): Promise<Connection> =>
  open(file, { readonly: true }, async (database) => {
    setCache(database, cache)
    // Opens the log files now, before they can be renamed.
    await whileBusy(() => database.prepare('SELECT count(*) FROM sqlite_schema').get())
  })

/**
 * Opens an existing file for reading only, and leaves it unchanged: its log is not checkpointed, and if there is no
 * log, none is left.
 */
export const openExisting = (file: string, hasLog: boolean): Promise<Connection> =>
  open(file, hasLog ? { readonly: true } : { fileMustExist: true }, async (database) => {
    database.pragma('query_only = ON')
    setCache(database, SMALL_CACHE)
    await whileBusy(() => database.prepare('SELECT count(*) FROM sqlite_schema').get())
  })

async function open(
  file: string,
  options: BetterSqlite3.Options,
  prepare: (database: BetterSqlite3.Database) => Promise<void>,
): Promise<Connection> {
  const Database = await importDriver()
  const database = new Database(file, { ...options, timeout: PATIENCE })
  try {
    await prepare(database)
    return createConnection(database)
  } catch (thrown) {
    database.close()
    throw thrown
  }
}

function createConnection(database: BetterSqlite3.Database): Connection {
  const prepared = createBoundedMap<string, BetterSqlite3.Statement<unknown[], unknown>>(
    CACHES.prepared,
    MAX_PREPARED,
  )
  const prepare = (text: string): BetterSqlite3.Statement<unknown[], unknown> => {
    const known = prepared.get(text)
    if (known) return known
    const statement = database.prepare(text)
    if (statement.reader) statement.pluck()
    prepared.set(text, statement)
    return statement
  }
  const [, , file] = database.prepare('PRAGMA database_list').raw().get() as readonly unknown[]
  return {
    all: (text, values) => prepare(text).all(...values.map(toStored)),
    iterate: (text, values) => prepare(text).iterate(...values.map(toStored)),
    first: (text, values) => prepare(text).get(...values.map(toStored)),
    rows: (text, values) =>
      prepare(text)
        .raw()
        .all(...values.map(toStored)) as readonly (readonly unknown[])[],
    row: (text, values) =>
      prepare(text)
        .raw()
        .get(...values.map(toStored)) as readonly unknown[],
    ask: (text, values) =>
      text.startsWith('SELECT')
        ? { rows: prepare(text).all(...values.map(toStored)), changed: 0 }
        : { rows: [], changed: prepare(text).run(...values.map(toStored)).changes },
    run: (text, values) => prepare(text).run(...values.map(toStored)).changes,
    execute: (text) => void database.exec(text),
    get isInTransaction() {
      return database.inTransaction
    },
    file: String(file ?? ''),
    close: () => void database.close(),
  }
}

/** SQLite has no booleans. */
const toStored = (value: Value): unknown => (typeof value === 'boolean' ? Number(value) : value)

async function importDriver(): Promise<typeof BetterSqlite3> {
  try {
    return (await import('better-sqlite3')).default
  } catch (cause) {
    throw new Error('SQLite needs the package better-sqlite3: npm install better-sqlite3', { cause })
  }
}
