import { ServiceError } from '../../errors.js'
import { textOf } from '../sql/faults.js'

/** SQLite's own code, like `SQLITE_BUSY`; empty for anything else that was thrown. */
const codeOf = (thrown: unknown): string => textOf(thrown, 'code')

/** Somebody else is writing. */
export const isBusy = (thrown: unknown): boolean => /^SQLITE_(?:BUSY|LOCKED)/.test(codeOf(thrown))

/** An index that SQLite does not name, if a unique one or a primary key refused; `undefined` for any other fault. */
export const takenBy = (thrown: unknown): string | undefined =>
  /^SQLITE_CONSTRAINT_(?:PRIMARYKEY|UNIQUE)/.test(codeOf(thrown)) ? '' : undefined

const UNAVAILABLE =
  /^SQLITE_(?:BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB|NOMEM|PROTOCOL|PERM|AUTH)/

/** What a caller is told: that the storage does not answer, or the fault itself where it is ours. */
export const explain = (thrown: unknown): unknown =>
  UNAVAILABLE.test(codeOf(thrown)) ? unavailable(thrown) : thrown

export const unavailable = (cause: unknown): ServiceError =>
  new ServiceError('storage_unavailable', 'The database file cannot be used.', { cause })
