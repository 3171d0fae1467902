import { createBoundedMap } from '../../../core/kept/bounded-map.js'
import { CACHES } from '../../../core/kept/caches.js'
import type { Value } from '../../sql/dialect.js'
import type { DatabaseResult } from '../../sql/engine.js'
import { UnusableStorage } from '../../sql/faults.js'
import { claimFile } from '../drivers/claim-file.js'
import type { Bound, OpenMode, SqliteDriver, SqliteSession, SqliteStatement } from '../drivers/driver.js'
import { loadDriver } from '../drivers/load-driver.js'
import { warnOfVersion } from '../drivers/sound.js'
import { whileBusy } from './while-busy.js'

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

/** The options for opening a file. `driver`: by default, the first driver that can be loaded. */
export interface OpenOptions {
  /** In MiB. */
  readonly cache?: number
  readonly driver?: SqliteDriver | undefined
}

/**
 * Opens a file for writing. A write is on disk before it is acknowledged (WAL, `synchronous=FULL`), and other processes
 * may use the file at the same time. Rejects with `ConfigError` if no driver can be loaded.
 */
export const openWriter = (
  file: string,
  {
    isLasting = true,
    mustExist = false,
    cache = CACHE,
    driver,
  }: OpenOptions & { readonly isLasting?: boolean; readonly mustExist?: boolean } = {},
): Promise<Connection> =>
  open(file, { mode: mustExist ? 'write' : 'create', cache, driver }, async (connection) => {
    // Retried here, because SQLite itself does not retry this statement if processes that open a new file block each
    // other.
    await whileBusy(() => connection.first('PRAGMA journal_mode = WAL', []))
    connection.first(`PRAGMA synchronous = ${isLasting ? 'FULL' : 'OFF'}`, [])
    if (connection.first('PRAGMA encoding', []) !== 'UTF-8')
      throw new UnusableStorage(
        `the database ${file} does not store text as UTF-8, so strings would be sorted differently; use another file`,
      )
    warnOfVersion(connection.driver)
  })

/** Opens a file for reading only. The file must already have been opened with `openWriter`. */
export const openReader = (file: string, options: OpenOptions): Promise<Connection> =>
  // This read opens the log files now, before they can be renamed.
  open(file, { ...options, mode: 'read' }, readSchema)

/**
 * Opens an existing file for reading only and leaves it unchanged: its log is not checkpointed, and if it has no log,
 * no log remains afterwards.
 */
export const openExisting = (file: string, hasLog: boolean): Promise<Connection> =>
  open(file, { mode: hasLog ? 'read' : 'write', cache: SMALL_CACHE }, async (connection) => {
    connection.first('PRAGMA query_only = ON', [])
    await readSchema(connection)
  })

/**
 * Opens an existing file that no other connection has open, and moves its log into it, so that it is one file.
 * Otherwise rejects with `SQLITE_BUSY`, and changes nothing.
 */
export const openAlone = (file: string): Promise<Connection> =>
  open(file, { mode: 'write' }, async (connection) => {
    connection.first('PRAGMA journal_mode = DELETE', [])
  })

const readSchema = (connection: Connection): Promise<unknown> =>
  whileBusy(() => connection.first('SELECT count(*) FROM sqlite_schema', []))

async function open(
  file: string,
  { mode, cache, driver }: OpenOptions & { readonly mode: OpenMode },
  prepare: (connection: Connection) => Promise<unknown>,
): Promise<Connection> {
  const connection = new Connection(driver ?? (await loadDriver()), file, mode)
  try {
    if (cache !== undefined) connection.first(`PRAGMA cache_size = -${cache * 1024}`, [])
    await prepare(connection)
    return connection
  } catch (thrown) {
    connection.close()
    throw thrown
  }
}

/** A synchronous connection to a database file. */
export class Connection {
  readonly driver: SqliteDriver
  readonly #session: SqliteSession
  readonly #release: () => void
  readonly #prepared = createBoundedMap<string, SqliteStatement>(CACHES.prepared, MAX_PREPARED, (statement) =>
    statement.finish(),
  )

  constructor(driver: SqliteDriver, file: string, mode: OpenMode) {
    this.driver = driver
    this.#release = claimFile(file, driver.name)
    try {
      this.#session = driver.open(file, { mode, patience: PATIENCE })
    } catch (thrown) {
      this.#release()
      throw thrown
    }
  }

  /** The path of the file, or an empty string if there is no file. */
  get file(): string {
    return String(this.row('PRAGMA database_list', [])[2] ?? '')
  }

  get isInTransaction(): boolean {
    return this.#session.isInTransaction
  }

  /** Returns the first column of every row. */
  all(text: string, values: readonly Value[]): readonly unknown[] {
    return this.#prepare(text).all(values.map(toBound))
  }

  /**
   * Iterates over the first column of every row. Until the iteration ends, the connection can neither write nor
   * execute.
   */
  iterate(text: string, values: readonly Value[]): IterableIterator<unknown> {
    return this.#prepare(text).iterate(values.map(toBound))
  }

  /** Returns the first column of the first row. */
  first(text: string, values: readonly Value[]): unknown {
    return this.#prepare(text).first(values.map(toBound))
  }

  /** Returns all columns of every row. */
  rows(text: string, values: readonly Value[]): readonly (readonly unknown[])[] {
    return this.#prepare(text).rows(values.map(toBound))
  }

  /** Returns all columns of the only row. */
  row(text: string, values: readonly Value[]): readonly unknown[] {
    return this.rows(text, values)[0] ?? []
  }

  /** Returns the first column of every row, and the number of changed rows. */
  ask(text: string, values: readonly Value[]): DatabaseResult {
    return text.startsWith('SELECT')
      ? { rows: this.all(text, values), changed: 0 }
      : { rows: [], changed: this.run(text, values) }
  }

  /** Returns the number of rows that the statement changed. */
  run(text: string, values: readonly Value[]): number {
    return this.#prepare(text).run(values.map(toBound))
  }

  /** Runs a statement without values. */
  execute(text: string): void {
    this.run(text, [])
  }

  /**
   * Copies the file to a new file, as of the moment of the call. Other connections may write meanwhile. `onStep` is
   * called between steps, with the bytes that are copied and those of the file. If it throws, the copy ends.
   */
  async copyTo(file: string, onStep: (copied: number, all: number) => void): Promise<void> {
    const size = Number(this.first('PRAGMA page_size', []))
    const session = this.#session
    if (!session.copyTo) {
      this.first('PRAGMA query_only = OFF', [])
      this.run('VACUUM INTO ?', [file])
      const copied = size * Number(this.first('PRAGMA page_count', []))
      return onStep(copied, copied)
    }
    // A transaction keeps the moment. Without one, the copy would begin again after each write of another process.
    this.execute('BEGIN')
    try {
      this.first('SELECT count(*) FROM sqlite_schema', [])
      await session.copyTo(file, (copied, all) => onStep(copied * size, all * size))
    } finally {
      this.execute('ROLLBACK')
    }
  }

  close(): void {
    this.#session.close()
    this.#release()
  }

  #prepare(text: string): SqliteStatement {
    const known = this.#prepared.get(text)
    if (known) return known
    const statement = this.#session.prepare(text)
    this.#prepared.set(text, statement)
    return statement
  }
}

/** Reads a number that changes with each commit of another connection to the file, but not with commits of this one. */
export const readDataVersion = (connection: Connection): unknown =>
  connection.first('PRAGMA data_version', [])

/** Converts a value for SQLite, which has no booleans. */
function toBound(value: Value): Bound {
  if (typeof value === 'object') throw new TypeError('SQLite has no lists')
  return typeof value === 'boolean' ? Number(value) : value
}
