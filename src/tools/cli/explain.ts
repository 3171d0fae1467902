import { BackupError } from '../../adapters/sqlite/backup/backup-error.js'
import { ConfigError, isServiceError } from '../../core/errors.js'
import { TransferError } from '../transfer/transfer-error.js'
import { describeCause, StorageError } from './create-storage.js'
import { ListenError } from './listen.js'
import { FileError } from './read-json-file.js'
import { SeedError } from './start-service.js'

/** Errors whose message is enough for a user, without a stack trace. */
const SPEAKING = [FileError, ConfigError, StorageError, SeedError, ListenError, BackupError]

/**
 * Returns the text to print for an error: only the message if the user can correct the error, otherwise with the stack
 * trace.
 */
export function explain(thrown: unknown): string {
  if (thrown instanceof TransferError) return `${thrown.message} (${thrown.code})`
  if (thrown instanceof Error && SPEAKING.some((kind) => thrown instanceof kind)) return thrown.message
  if (isServiceError(thrown)) {
    return thrown.cause === undefined ? thrown.message : `${thrown.message} ${describeCause(thrown)}`
  }
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
}
