import { isObject, isPlainObject } from '../../json/own-properties.js'
import { type Expectation, requireOptions } from '../../options.js'
import type { MaybePromise, StorageAdapter } from '../../storage.js'
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
  const { file } = checkOptions(options)
  let opened: Database | undefined
  let opening: Promise<void> | undefined

  const connect = async (): Promise<void> => {
    opened = await openDatabase(file)
  }
  const use = (): Database => {
    if (!opened) throw unavailable(new Error('the adapter is not open'))
    return opened
  }
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
        await use().create(plans)
      } catch (thrown) {
        throw explainOpening(file, thrown)
      }
    },
    list: (collection, query) => explained(() => use().list(collection, query)),
    async *stream(collection, query) {
      const first = await explained(() => use().list(collection, { ...query, bytes: BATCH_BYTES }))
      for (let i = 0; i < first.length; i += BATCH) {
        query.signal?.throwIfAborted()
        yield first.slice(i, i + BATCH)
      }
      for (let ids = first.rest ?? []; ids.length > 0; ) {
        query.signal?.throwIfAborted()
        const batch = await explained(() => use().listNext({ collection, filter: query.filter, ids }, query))
        ids = ids.slice(batch.passed)
        if (batch.documents.length > 0) yield batch.documents
      }
    },
    count: (collection, filter, options) => explained(() => use().count(collection, filter, options)),
    async write(steps, options) {
      return use().write(steps, options)
    },
    async changes(after, query) {
      return explained(() => use().changes({ ...query, after, ...(after === null ? { wait: 0 } : {}) }))
    },
    async close() {
      await opened?.close()
      opened = undefined
    },
  }
}

/** Runs work; its errors become those for the caller. */
function explained<T>(work: () => MaybePromise<T>): MaybePromise<T> {
  const fail = (thrown: unknown): never => {
    throw explain(thrown)
  }
  try {
    const result = work()
    return result instanceof Promise ? result.catch(fail) : result
  } catch (thrown) {
    return Promise.reject(explain(thrown))
  }
}

function checkOptions(options: unknown): SqliteAdapterOptions {
  const { file = '' } = isObject(options) ? options : {}
  requireOptions(isPlainObject(options) ? { ...options, file } : options, { file: FILE })
  return { file: String(file) }
}

const FILE: Expectation = [(value) => typeof value === 'string' && value !== '', 'the path of a file']
