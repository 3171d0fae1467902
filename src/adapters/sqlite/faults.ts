import { ServiceError } from '../../errors.js'
import { textOf } from '../sql/faults.js'

/** SQLite's own code, like `SQLITE_BUSY`; empty for any other error. */
const codeOf = (thrown: unknown): string => textOf(thrown, 'code')

/** Whether another connection is writing. */
export const isBusy = (thrown: unknown): boolean => /^SQLITE_(?:BUSY|LOCKED)/.test(codeOf(thrown))

/**
 * Whether a commit failed before it was made: others use the file, or there was no room for what makes it one, which SQLite
 * writes last.
 */
export const isBeforeCommit = (thrown: unknown): boolean => /^SQLITE_(?:BUSY|FULL)/.test(codeOf(thrown))

/**
 * An empty name, because SQLite does not tell the index, if a unique one or a primary key refused;
 * `undefined` for any other error.
 */
export const takenBy = (thrown: unknown): string | undefined =>
  /^SQLITE_CONSTRAINT_(?:PRIMARYKEY|UNIQUE)/.test(codeOf(thrown)) ? '' : undefined

const UNAVAILABLE =
  /^SQLITE_(?:BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB|NOMEM|PROTOCOL|PERM|AUTH)/

/** The error for the caller: `storage_unavailable`, or the error itself where it is the service's fault. */
export const explain = (thrown: unknown): unknown =>
  UNAVAILABLE.test(codeOf(thrown)) ? unavailable(thrown) : thrown

/** The error of a file that cannot be used. */
export const unavailable = (cause: unknown): ServiceError =>
  new ServiceError('storage_unavailable', 'The database file cannot be used.', { cause })
