import { ServiceError } from '../../../core/errors.js'
import { messageOf, textOf } from '../../sql/faults.js'
import type { RollbackReason } from './program-driver.js'

/** The name of an error, if the engine has one, and its message. Some engines write the name into the message. */
const describe = (thrown: unknown): string => `${textOf(thrown, 'code')} ${messageOf(thrown)}`

const REASONS: readonly (readonly [description: RegExp, reason: RollbackReason])[] = [
  [/UNIQUE constraint failed/, 'taken'],
  [/SQLITE_(?:BUSY|LOCKED)|database is locked|TRANSACTION_(?:BUSY|CLOSED|TIMEOUT)/, 'busy'],
  [/SQLITE_FULL|database or disk is full/, 'full'],
  [/SQLITE_TOOBIG|string or blob too big/, 'large'],
  [/SQLITE_(?:CANTOPEN|CORRUPT|NOMEM|NOTADB|PERM|PROTOCOL|READONLY)/, 'broken'],
  // A commit that fails may have reached the disk.
  [/SQLITE_IOERR/, 'unknown'],
  [/SQLITE_|\bSQL_/, 'failed'],
]

/** Returns why a program was rolled back, or `otherwise` for an error that is none of SQLite. */
export const reasonOf = (thrown: unknown, otherwise: RollbackReason): RollbackReason =>
  REASONS.find(([description]) => description.test(describe(thrown)))?.[1] ?? otherwise

/** Whether an error says that a table or an index with the same name exists already. */
export const isExisting = (thrown: unknown): boolean => / already exists/.test(messageOf(thrown))

/** Whether an error says that a table lacks a column. */
export const lacksColumn = (thrown: unknown): boolean => /no such column: /.test(messageOf(thrown))

/** Returns an empty string if a unique index was violated (SQLite does not report which), otherwise `undefined`. */
export const takenBy = (thrown: unknown): string | undefined =>
  reasonOf(thrown, 'failed') === 'taken' ? '' : undefined

/** Returns the error for a database that cannot be used. */
export const unavailable = (cause: unknown): ServiceError =>
  new ServiceError('storage_unavailable', 'The database cannot be used.', { cause })

/** Returns the error for a program that was rolled back for a reason that its caller does not handle. */
export function toError(reason: RollbackReason, cause: unknown): unknown {
  if (reason === 'failed') return cause
  if (reason === 'large')
    return new ServiceError('document_too_large', 'The document is larger than the storage can hold.', {
      cause,
    })
  if (reason !== 'unknown') return unavailable(cause)
  const message = 'The database could not be written. It is unknown whether the write took effect.'
  return new ServiceError('outcome_unknown', message, { cause })
}

/** Converts the error of a read: `storage_unavailable`, or unchanged if a statement is wrong. */
export const explainRead = (thrown: unknown): unknown =>
  reasonOf(thrown, 'busy') === 'failed' ? thrown : unavailable(thrown)
