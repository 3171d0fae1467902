import { bounds } from '../../core/bounds.js'
import { isServiceError } from '../../core/errors.js'
import { isObject, isPlainObject } from '../../core/json/own-properties.js'
import { type Expectation, requireOptions, wholeNumber } from '../../core/options.js'
import { whenFailed, whenReady } from '../../core/promises.js'
import type {
  ChangePage,
  ChangeQuery,
  CollectionPlan,
  MaybePromise,
  StorageAdapter,
} from '../../core/storage.js'
import { CACHE } from './connection/connection.js'
import { type Database, openDatabase } from './database.js'
import type { DriverName } from './drivers/driver.js'
import { DRIVERS } from './drivers/load-driver.js'
import { explain, explainOpening, unavailable } from './faults.js'
import { BATCH } from './read/read-list.js'

/** The options of `createSqliteAdapter`. */
export interface SqliteAdapterOptions {
  /**
   * The path of the database file, which is created if it is missing. `:memory:` creates a temporary file, which is
   * deleted when the adapter closes.
   */
  readonly file: string
  /**
   * The size of the page cache of each connection, in MiB. The adapter has six connections: one that writes, one for
   * short reads, and four for long reads. A connection fills its cache as it reads. Default: 64.
   */
  readonly cache?: number
  /**
   * The library that contains SQLite. All adapters of a process that use one file must use the same library. Default: in
   * Bun `bun:sqlite`; otherwise `better-sqlite3` if it is installed, else `node:sqlite`.
   */
  readonly driver?: 'better-sqlite3' | 'node:sqlite' | 'bun:sqlite'
}

/**
 * Creates an adapter that stores documents in an SQLite file. It uses the package `better-sqlite3` if the application has
 * installed it, else the SQLite of the runtime: Node from 22.23 or 24.15 on, Deno, or Bun from 1.4.5 on. A write is on
 * disk before it is acknowledged. Other processes on the same machine may use the file at the same time. Throws
 * `ConfigError`; `open` rejects with it if there is no SQLite.
 *
 * @example
 * ```ts
 * const adapter = createSqliteAdapter({ file: 'notes.db' })
 * const service = createCollectionService(config, adapter)
 * ```
 */
export function createSqliteAdapter(options: SqliteAdapterOptions): StorageAdapter {
  const place = new DatabasePlace(checkOptions(options))
  return {
    system: 'sqlite',
    open: (plans) => place.open(plans),
    list: (collection, query) => place.run((database) => database.list(collection, query)),
    async *stream(collection, query) {
      const first = await place.run((database) =>
        database.list(collection, { ...query, bytes: bounds.batchBytes }),
      )
      for (let i = 0; i < first.length; i += BATCH) {
        query.signal?.throwIfAborted()
        yield first.slice(i, i + BATCH)
      }
      for (let ids = first.rest ?? []; ids.length > 0; ) {
        query.signal?.throwIfAborted()
        const rest = { collection, filter: query.filter, ids }
        const batch = await place.run((database) => database.listNext(rest, query))
        ids = ids.slice(batch.passed)
        if (batch.documents.length > 0) yield batch.documents
      }
    },
    count: (collection, filter, options) =>
      place.run((database) => database.count(collection, filter, options)),
    aggregate: (collection, query) => place.run((database) => database.aggregate(collection, query)),
    async write(steps, options) {
      return place.run((database) => database.write(steps, options))
    },
    changes: (after, query) => place.changes(after, query),
    state: (collections) => place.state(collections),
    async snapshot() {
      return place.run((database) => database.snapshot())
    },
    leftUnique: (plans) => place.run((database) => database.leftUnique(plans)),
    async dropUnique(collection, fields) {
      return place.run((database) => database.dropUnique(collection, fields))
    },
    close: () => place.close(),
  }
}

/**
 * The path of a database file, with the database that is open there. If the open files were deleted or replaced, opens
 * the file that is at the path now.
 */
class DatabasePlace {
  readonly #options: CheckedOptions
  #opened: Database | undefined
  #opening: Promise<void> | undefined
  #reopening: Promise<Database> | undefined
  /** The plans of all calls of `open`, keyed by their JSON. */
  readonly #asked = new Map<string, readonly CollectionPlan[]>()

  constructor(options: CheckedOptions) {
    this.#options = options
  }

  async open(plans: readonly CollectionPlan[]): Promise<void> {
    try {
      if (!this.#opened) {
        this.#opening ??= this.#connect().finally(() => {
          this.#opening = undefined
        })
        await this.#opening
      }
      await (await this.#use()).create(plans)
      this.#asked.set(JSON.stringify(plans), plans)
    } catch (thrown) {
      throw explainOpening(this.#options.file, thrown)
    }
  }

  run<T>(work: (database: Database) => MaybePromise<T>): MaybePromise<T> {
    const workOn = (database: Database): MaybePromise<T> => explained(() => work(database), database)
    return explained(() => whenReady(this.#use(), workOn))
  }

  async changes(after: string | null, query: ChangeQuery): Promise<ChangePage> {
    const asked = { ...query, after, ...(after === null ? { wait: 0 } : {}) }
    for (;;) {
      const database = await explained(() => this.#use())
      try {
        return await database.changes(asked)
      } catch (thrown) {
        // If the file was deleted or replaced, the reader continues in the file that is at the path now.
        if (database.isInPlace() || query.signal?.aborted) throw explain(thrown)
      }
    }
  }

  state(collections: readonly string[]): string | undefined {
    return this.#opened?.isInPlace() ? this.#opened.state(collections) : undefined
  }

  async close(): Promise<void> {
    await this.#opening?.catch(() => {})
    await this.#reopening?.catch(() => {})
    await this.#opened?.close()
    this.#opened = undefined
  }

  async #connect(): Promise<void> {
    this.#opened = await openDatabase(this.#options.file, this.#options)
  }

  #use(): MaybePromise<Database> {
    const opened = this.#opened
    if (!opened) throw unavailable(new Error('the adapter is not open'))
    if (opened.isInPlace()) return opened
    this.#reopening ??= this.#reopen(opened)
      .catch((thrown: unknown) => {
        throw isServiceError(thrown) ? thrown : unavailable(thrown)
      })
      .finally(() => {
        this.#reopening = undefined
      })
    return this.#reopening
  }

  /** Opens the file that is now at the path of a database whose files were deleted or replaced. */
  async #reopen(lost: Database): Promise<Database> {
    if (!lost.isThere()) throw unavailable(new Error(`the database file ${lost.file} no longer exists`))
    await lost.abandon()
    const next = await openDatabase(lost.file, { ...this.#options, isAgain: true })
    try {
      for (const plans of this.#asked.values()) await next.create(plans)
    } catch (thrown) {
      await next.close()
      throw thrown
    }
    this.#opened = next
    return next
  }
}

/**
 * Runs an operation and converts its errors to errors for the caller. If the files of `database` were deleted or
 * replaced, all errors become `storage_unavailable`.
 */
const explained = <T>(work: () => MaybePromise<T>, database?: Database): MaybePromise<T> =>
  whenFailed(work, async (thrown) => {
    throw isServiceError(thrown) || database?.isInPlace() !== false ? explain(thrown) : unavailable(thrown)
  })

/** Options with their defaults. `driver`: `undefined` is the first driver that can be loaded. */
interface CheckedOptions {
  readonly file: string
  readonly cache: number
  readonly driver: DriverName | undefined
}

function checkOptions(options: unknown): CheckedOptions {
  const { file = '', cache = CACHE, driver } = isObject(options) ? options : {}
  requireOptions(isPlainObject(options) ? { ...options, file } : options, {
    file: FILE,
    cache: wholeNumber(1, MAX_CACHE),
    driver: DRIVER,
  })
  return { file: String(file), cache: Number(cache), driver: DRIVERS.find((name) => name === driver) }
}

const DRIVER: Expectation = [
  (value) => DRIVERS.some((name) => name === value),
  `one of ${DRIVERS.join(', ')}`,
]

/** The maximum size of a cache in MiB. SQLite stores the size in KiB in 32 bits. */
const MAX_CACHE = 2 ** 20

const FILE: Expectation = [(value) => typeof value === 'string' && value !== '', 'the path of a file']
