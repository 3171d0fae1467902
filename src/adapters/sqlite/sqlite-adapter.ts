import { isServiceError } from '../../errors.js'
import { isObject, isPlainObject } from '../../json/own-properties.js'
import { type Expectation, requireOptions, wholeNumber } from '../../options.js'
import { whenReady } from '../../promises.js'
import type { CollectionPlan, MaybePromise, StorageAdapter } from '../../storage.js'
import { CACHE } from './connection/connection.js'
import { type Database, openDatabase } from './database.js'
import { explain, explainOpening, unavailable } from './faults.js'
import { BATCH, BATCH_BYTES } from './read/read-batch.js'

/** The options of `createSqliteAdapter`. */
export interface SqliteAdapterOptions {
  /**
   * The database file, created where it is missing. `:memory:` is a temporary file, which is removed when the
   * adapter closes.
   */
  readonly file: string
  /**
   * The most MiB of pages of the file that each of its six connections keeps in memory, by default 64: the one that writes, one
   * beside it, and four for long reads. A connection takes it as it reads.
   */
  readonly cache?: number
}

/**
 * Creates an adapter that keeps documents in a file of SQLite, through `better-sqlite3`, which the host
 * installs. An acknowledged write is on disk; other processes on the same machine may use the file at the
 * same time. Throws `ConfigError`.
 *
 * @example
 * ```ts
 * const adapter = createSqliteAdapter({ file: 'notes.db' })
 * const service = createCollectionService(config, adapter)
 * ```
 */
export function createSqliteAdapter(options: SqliteAdapterOptions): StorageAdapter {
  const { file, cache } = checkOptions(options)
  let opened: Database | undefined
  let opening: Promise<void> | undefined
  let reopening: Promise<Database> | undefined
  /** The plans of all calls of `open`, by their text. */
  const asked = new Map<string, readonly CollectionPlan[]>()

  const connect = async (): Promise<void> => {
    opened = await openDatabase(file, { cache })
  }
  /** Opens what lies at the path of a database whose files are gone. */
  const reopen = async (lost: Database): Promise<Database> => {
    if (!lost.isThere()) throw unavailable(new Error(`there is no file ${lost.file}`))
    await lost.abandon()
    const next = await openDatabase(lost.file, { cache, isAgain: true })
    try {
      for (const plans of asked.values()) await next.create(plans)
    } catch (thrown) {
      await next.close()
      throw thrown
    }
    opened = next
    return next
  }
  const use = (): MaybePromise<Database> => {
    if (!opened) throw unavailable(new Error('the adapter is not open'))
    if (opened.isInPlace()) return opened
    reopening ??= reopen(opened)
      .catch((thrown: unknown) => {
        throw isServiceError(thrown) ? thrown : unavailable(thrown)
      })
      .finally(() => {
        reopening = undefined
      })
    return reopening
  }
  const run = <T>(work: (database: Database) => MaybePromise<T>): MaybePromise<T> =>
    explained(() => whenReady(use(), (database) => explained(() => work(database), database)))

  return {
    system: 'sqlite',
    async open(plans) {
      try {
        if (!opened) {
          opening ??= connect().finally(() => {
            opening = undefined
          })
          await opening
        }
        await (await use()).create(plans)
        asked.set(JSON.stringify(plans), plans)
      } catch (thrown) {
        throw explainOpening(file, thrown)
      }
    },
    list: (collection, query) => run((database) => database.list(collection, query)),
    async *stream(collection, query) {
      const first = await run((database) => database.list(collection, { ...query, bytes: BATCH_BYTES }))
      for (let i = 0; i < first.length; i += BATCH) {
        query.signal?.throwIfAborted()
        yield first.slice(i, i + BATCH)
      }
      for (let ids = first.rest ?? []; ids.length > 0; ) {
        query.signal?.throwIfAborted()
        const batch = await run((database) =>
          database.listNext({ collection, filter: query.filter, ids }, query),
        )
        ids = ids.slice(batch.passed)
        if (batch.documents.length > 0) yield batch.documents
      }
    },
    count: (collection, filter, options) => run((database) => database.count(collection, filter, options)),
    async write(steps, options) {
      return run((database) => database.write(steps, options))
    },
    async changes(after, query) {
      const asked = { ...query, after, ...(after === null ? { wait: 0 } : {}) }
      for (;;) {
        const database = await explained(use)
        try {
          return await database.changes(asked)
        } catch (thrown) {
          // A reader that waits goes on waiting in the file that is there now.
          if (database.isInPlace() || query.signal?.aborted) throw explain(thrown)
        }
      }
    },
    state: (collections) => (opened?.isInPlace() ? opened.state(collections) : undefined),
    async close() {
      await reopening?.catch(() => {})
      await opened?.close()
      opened = undefined
    },
  }
}

/** Runs work; its errors become those for the caller. A database that was given up has errors of its own. */
function explained<T>(work: () => MaybePromise<T>, database?: Database): MaybePromise<T> {
  const fail = (thrown: unknown): never => {
    throw isServiceError(thrown) || database?.isInPlace() !== false ? explain(thrown) : unavailable(thrown)
  }
  try {
    const result = work()
    return result instanceof Promise ? result.catch(fail) : result
  } catch (thrown) {
    return Promise.reject(thrown).catch(fail)
  }
}

function checkOptions(options: unknown): Required<SqliteAdapterOptions> {
  const { file = '', cache = CACHE } = isObject(options) ? options : {}
  requireOptions(isPlainObject(options) ? { ...options, file } : options, {
    file: FILE,
    cache: wholeNumber(1, MAX_CACHE),
  })
  return { file: String(file), cache: Number(cache) }
}

/** The most MiB of a cache; SQLite counts its KiB in 32 bits. */
const MAX_CACHE = 2 ** 20

const FILE: Expectation = [(value) => typeof value === 'string' && value !== '', 'the path of a file']
