import { ConfigError } from '../../errors.js'
import { isId, or } from '../../filter/filter.js'
import type { StorageAdapter, StoredDocument } from '../../storage.js'
import { streamByIds } from '../sql/stream-by-ids.js'
import { statements } from './apply-steps.js'
import { type Connection, openConnection } from './connection.js'
import { createStructures } from './create-structures.js'
import { explain, unavailable } from './faults.js'
import { whileBusy } from './while-busy.js'
import { createWriteQueue, type WriteQueue } from './write-queue.js'

export interface SqliteAdapterOptions {
  /** The database file, made where there is none; `:memory:` ends with the process. */
  readonly file: string
}

/**
 * Keeps documents in a file of SQLite, through `better-sqlite3`, which the host installs. What is acknowledged is on
 * disk; other processes on the same machine may use the file at the same time. Throws `ConfigError`.
 */
export function createSqliteAdapter(options: SqliteAdapterOptions): StorageAdapter {
  const { file } = checkOptions(options)
  let opened: { readonly connection: Connection; readonly queue: WriteQueue } | undefined
  let opening: Promise<void> | undefined

  const connect = async (): Promise<void> => {
    const connection = await openConnection(file)
    opened = { connection, queue: createWriteQueue(connection) }
  }
  const use = (): NonNullable<typeof opened> => {
    if (!opened) throw unavailable(new Error('the adapter is not open'))
    return opened
  }
  return {
    async open(plans) {
      try {
        if (!opened) {
          opening ??= connect().finally(() => {
            opening = undefined
          })
          await opening
        }
        const { connection } = use()
        await whileBusy(() => createStructures(connection, plans))
      } catch (thrown) {
        throw explain(thrown)
      }
    },
    async list(collection, query) {
      const { text, values } = statements.list(collection, query)
      return read(() => use().connection.all(text, values).map(parseDocument))
    },
    async *stream(collection, query) {
      const { text, values } = statements.ids(collection, query)
      const ids = read(() => use().connection.all(text, values).map(String))
      yield* streamByIds({ ids, isExact: true }, query, async (some) => {
        const one = { filter: or(some.map(isId)), sort: [], skip: 0, limit: null }
        const { text, values } = statements.list(collection, one)
        return read(() => use().connection.all(text, values).map(parseDocument))
      })
    },
    async count(collection, filter) {
      const { text, values } = statements.count(collection, filter)
      return read(() => Number(use().connection.first(text, values)))
    },
    async write(steps, { signal }) {
      return use().queue.write(steps, signal)
    },
    async close() {
      await opened?.queue.drain()
      opened?.connection.close()
      opened = undefined
    },
  }
}

const parseDocument = (text: unknown): StoredDocument => JSON.parse(String(text)) as StoredDocument

function read<T>(work: () => T): T {
  try {
    return work()
  } catch (thrown) {
    throw explain(thrown)
  }
}

function checkOptions(options: unknown): SqliteAdapterOptions {
  const { file, ...others } = (typeof options === 'object' && options !== null ? options : {}) as {
    readonly [name: string]: unknown
  }
  const faults = Object.keys(others).map((name) => ({ path: name, message: 'is unknown; allowed: file' }))
  if (typeof file !== 'string' || file === '')
    faults.push({ path: 'file', message: 'must be the path of a file' })
  if (typeof file !== 'string' || faults.length > 0) throw new ConfigError(faults)
  return { file }
}
