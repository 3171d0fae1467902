import { ConfigError, isServiceError } from '../errors.js'
import { describeCause, StorageError } from './create-storage.js'
import { USAGE, UsageError } from './parse-arguments.js'
import { FileError } from './read-json-file.js'
import { SeedError } from './serve.js'

/** Errors whose message is all that a user needs. */
const SPEAKING = [FileError, ConfigError, StorageError, SeedError]

/** Says what is wrong in words where it is the user's to mend, and shows everything else whole. */
export function explain(thrown: unknown): string {
  if (thrown instanceof UsageError) return `${thrown.message}\n\n${USAGE}`
  if (thrown instanceof Error && SPEAKING.some((kind) => thrown instanceof kind)) return thrown.message
  if (isServiceError(thrown)) {
    return thrown.cause === undefined ? thrown.message : `${thrown.message} ${describeCause(thrown)}`
  }
  if ((thrown as NodeJS.ErrnoException | null)?.code === 'EADDRINUSE')
    return 'The port is taken; --port names another.'
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
}
