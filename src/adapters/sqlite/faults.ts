import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { ServiceError } from '../../core/errors.js'
import { messageOf, textOf } from '../sql/faults.js'

/** Returns SQLite's error code, such as `SQLITE_BUSY`, or an empty string for any other error. */
const codeOf = (thrown: unknown): string => textOf(thrown, 'code')

/** Whether a statement failed because another connection is writing. */
export const isBusy = (thrown: unknown): boolean => /^SQLITE_(?:BUSY|LOCKED)/.test(codeOf(thrown))

/**
 * Whether a commit failed before it took effect. This is so if other processes were using the file, or if there was no
 * space for the commit record, which SQLite writes last.
 */
export const isBeforeCommit = (thrown: unknown): boolean => /^SQLITE_(?:BUSY|FULL)/.test(codeOf(thrown))

/**
 * Returns an empty string if a unique index or a primary key was violated (SQLite does not report which), and
 * `undefined` for any other error.
 */
export const takenBy = (thrown: unknown): string | undefined =>
  /^SQLITE_CONSTRAINT_(?:PRIMARYKEY|UNIQUE)/.test(codeOf(thrown)) ? '' : undefined

/** Whether an error has this message. SQLite uses one code for all errors in a statement's text. */
const isError = (thrown: unknown, message: RegExp): boolean =>
  codeOf(thrown) === 'SQLITE_ERROR' && message.test(messageOf(thrown))

/** Whether a statement failed because a table, index or view with the same name exists already. */
export const isExisting = (thrown: unknown): boolean => isError(thrown, / already exists$/)

/** Whether a statement failed because a table lacks a column. */
export const lacksColumn = (thrown: unknown): boolean => isError(thrown, /^no such column: /)

/** For each error code of a failed opening, the reason and advice. */
const UNOPENED: readonly (readonly [code: RegExp, advice: string])[] = [
  [
    /^SQLITE_NOTADB/,
    'it is not an SQLite database, or it is encrypted; use another file, which is created if it does not exist',
  ],
  [
    /^SQLITE_CANTOPEN/,
    'it is a folder, or this process may not open or create it; use a file in a folder to which this process may write',
  ],
  [
    /^SQLITE_(?:READONLY|PERM|AUTH)/,
    'this process may not write to the file or to its folder, where SQLite stores the log; change their owner or permissions',
  ],
  [/^SQLITE_CORRUPT/, 'it is damaged; restore it from a backup'],
]

/**
 * Converts an error that occurred while a file was opened. If its reason is known, the caller receives
 * `storage_unavailable` with advice in `cause`.
 */
export function explainOpening(file: string, thrown: unknown): unknown {
  const isFolderMissing = codeOf(thrown) === 'SQLITE_CANTOPEN' && !existsSync(dirname(file))
  const advice = isFolderMissing
    ? 'its folder does not exist; create it'
    : UNOPENED.find(([code]) => code.test(codeOf(thrown)))?.[1]
  return advice === undefined
    ? explain(thrown)
    : unavailable(new Error(`the file ${file} cannot be used: ${advice}`, { cause: thrown }))
}

const UNAVAILABLE =
  /^SQLITE_(?:BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB|NOMEM|PROTOCOL|PERM|AUTH)/

/** Converts an error for the caller to `storage_unavailable`, or returns it unchanged if it is a bug of the service. */
export const explain = (thrown: unknown): unknown =>
  UNAVAILABLE.test(codeOf(thrown)) ? unavailable(thrown) : thrown

/** Returns the error for a file that was deleted or replaced while it was open. */
export const displaced = (): ServiceError =>
  unavailable(new Error('the database file or its log was deleted or replaced while it was open'))

/** Returns the error for a file that cannot be used. */
export const unavailable = (cause: unknown): ServiceError =>
  new ServiceError('storage_unavailable', 'The database file cannot be used.', { cause })
