import { createPostgresAdapter } from '../../adapters/postgres/postgres-adapter.js'
import { createSqliteAdapter } from '../../adapters/sqlite/sqlite-adapter.js'
import { isServiceError } from '../../core/errors.js'
import type { StorageAdapter } from '../../index.js'
import type { StorageArguments } from './arguments/arguments.js'

/** A storage that cannot be opened; the message says why. */
export class StorageError extends Error {}

/** Creates the storage that a command line names. Opening it rejects with `StorageError`. */
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

/** A storage in words, without the URL of a database, which may contain a password. */
export const nameStorage = (storage: StorageArguments): string =>
  storage.kind === 'file' ? storage.file : 'the database'

/** An error with its causes: an operator needs more details than a client of the service. */
export function describeCause(thrown: unknown): string {
  const chain: string[] = []
  for (let one = isServiceError(thrown) ? (thrown.cause ?? thrown) : thrown; one !== undefined; ) {
    chain.push(nameError(one))
    one = one instanceof Error ? one.cause : undefined
  }
  return chain.join(': ')
}

/** The error of several failed connection attempts has a code but no message. */
const nameError = (thrown: unknown): string =>
  thrown instanceof Error
    ? thrown.message || ((thrown as NodeJS.ErrnoException).code ?? thrown.name)
    : String(thrown)
