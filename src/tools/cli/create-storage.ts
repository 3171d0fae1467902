import { createPostgresAdapter } from '../../adapters/postgres/postgres-adapter.js'
import { createSqliteAdapter } from '../../adapters/sqlite/sqlite-adapter.js'
import { isServiceError } from '../../core/errors.js'
import type { StorageAdapter } from '../../index.js'
import type { StorageArguments } from './arguments/commands.js'

/** The error for a storage that cannot be opened or read. Its message says why. */
export class StorageError extends Error {}

/** Creates the adapter of the storage that a command line names. Its `open` rejects with `StorageError`. */
export function createStorage(storage: StorageArguments): StorageAdapter {
  const adapter = createAdapter(storage)
  return {
    ...adapter,
    async open(plans) {
      try {
        await adapter.open(plans)
      } catch (cause) {
        const message = `${nameStorage(storage)} cannot be opened: ${describeCause(cause)}`
        throw new StorageError(message, { cause })
      }
    },
  }
}

function createAdapter(storage: StorageArguments): StorageAdapter {
  switch (storage.kind) {
    case 'file':
      return createSqliteAdapter({ file: storage.file })
    case 'database':
      return createPostgresAdapter({
        connectionString: storage.url,
        ...(storage.schema === undefined ? {} : { schema: storage.schema }),
      })
    default:
      return storage satisfies never
  }
}

/** Runs `work` and closes the storage even if `work` fails, because an open storage would keep the process alive. */
export async function usingStorage<T>(adapter: StorageAdapter, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } finally {
    // If the storage did not open, it may also fail to close. The second error is ignored, because the first one is the
    // cause.
    await adapter.close().catch(() => {})
  }
}

/** The name of a storage in messages. For a database it is not the URL, which may contain a password. */
export const nameStorage = (storage: StorageArguments): string =>
  storage.kind === 'file' ? storage.file : 'the database'

/** Describes an error with all its causes, because an operator needs more details than a client of the service. */
export function describeCause(thrown: unknown): string {
  const chain: string[] = []
  for (let one = isServiceError(thrown) ? (thrown.cause ?? thrown) : thrown; one !== undefined; ) {
    chain.push(nameError(one))
    one = one instanceof Error ? one.cause : undefined
  }
  return chain.join(': ')
}

/**
 * The message of an error, or else its code: the error for several failed connection attempts has a code but no
 * message.
 */
const nameError = (thrown: unknown): string =>
  thrown instanceof Error
    ? thrown.message || ((thrown as NodeJS.ErrnoException).code ?? thrown.name)
    : String(thrown)
