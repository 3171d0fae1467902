import { ServiceError } from '../../core/errors.js'
import { messageOf, textOf } from '../sql/faults.js'

/** SQLite's own code, like `SQLITE_BUSY`; empty for any other error. */
const codeOf = (thrown: unknown): string => textOf(thrown, 'code')

/** Whether another connection is writing. */
export const isBusy = (thrown: unknown): boolean => /^SQLITE_(?:BUSY|LOCKED)/.test(codeOf(thrown))

/**
 * Whether a commit failed before it took effect: other processes use the file, or there was no space for the commit
 * record, which SQLite writes last.
 */
export const isBeforeCommit = (thrown: unknown): boolean => /^SQLITE_(?:BUSY|FULL)/.test(codeOf(thrown))

/**
 * An empty name if a unique index or a primary key was violated, because SQLite does not report which; `undefined`
 * for any other error.
 */
export const takenBy = (thrown: unknown): string | undefined =>
  /^SQLITE_CONSTRAINT_(?:PRIMARYKEY|UNIQUE)/.test(codeOf(thrown)) ? '' : undefined

/** SQLite has one code for all errors in a statement. */
const isError = (thrown: unknown, message: RegExp): boolean =>
  codeOf(thrown) === 'SQLITE_ERROR' && message.test(messageOf(thrown))

/** Whether a table, index or view of this name exists already. */
export const isExisting = (thrown: unknown): boolean => isError(thrown, / already exists$/)

/** Whether a table lacks a column. */
export const lacksColumn = (thrown: unknown): boolean => isError(thrown, /^no such column: /)

/** Why a file cannot be opened, and the advice. */
const UNOPENED: readonly (readonly [code: RegExp, advice: string])[] = [
  [
    /^SQLITE_NOTADB/,
    'it is not a database of SQLite, or an encrypted one; use another file, which is created if it is missing',
  ],
  [
    /^SQLITE_CANTOPEN/,
    'it is a folder, or this process may not open or create it; use a file in a folder that it may write to',
  ],
  [
    /^SQLITE_(?:READONLY|PERM|AUTH)/,
    'this process may not write to it, or not to its folder, in which SQLite keeps the log; change their owner or rights',
  ],
  [/^SQLITE_CORRUPT/, 'it is damaged; restore it from a backup'],
]

/** The error of a file that cannot be opened: `storage_unavailable` for the caller, with advice as its cause. */
export function explainOpening(file: string, thrown: unknown): unknown {
  // The driver checks for the folder itself.
  const isFolderMissing = thrown instanceof TypeError && /directory/.test(thrown.message)
  const advice = isFolderMissing
    ? 'its folder does not exist; create it'
    : UNOPENED.find(([code]) => code.test(codeOf(thrown)))?.[1]
  return advice === undefined
    ? explain(thrown)
    : unavailable(new Error(`the file ${file} cannot be used: ${advice}`, { cause: thrown }))
}

const UNAVAILABLE =
  /^SQLITE_(?:BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB|NOMEM|PROTOCOL|PERM|AUTH)/

/** The error for the caller: `storage_unavailable`, or the error itself if it is a bug of the service. */
export const explain = (thrown: unknown): unknown =>
  UNAVAILABLE.test(codeOf(thrown)) ? unavailable(thrown) : thrown

/** The error of a file that was deleted or replaced while it was open. */
export const displaced = (): ServiceError =>
  unavailable(new Error('the file, or its log, was deleted or replaced while it was open'))

/** The error of a file that cannot be used. */
export const unavailable = (cause: unknown): ServiceError =>
  new ServiceError('storage_unavailable', 'The database file cannot be used.', { cause })
