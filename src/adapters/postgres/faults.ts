import { ServiceError } from '../../core/errors.js'
import { textOf } from '../sql/faults.js'

/** Returns the code of a server error (SQLSTATE), or an empty string for any other error. */
export const codeOf = (thrown: unknown): string => (textOf(thrown, 'severity') ? textOf(thrown, 'code') : '')

/** Returns the name of the violated unique index or primary key, or `undefined` for any other error. */
export const takenBy = (thrown: unknown): string | undefined =>
  codeOf(thrown) === '23505' ? textOf(thrown, 'constraint') : undefined

/** Whether a table, an index, a view or a type with the same name already exists. */
export const isExisting = (thrown: unknown): boolean => /^(?:42P07|42710)$/.test(codeOf(thrown))

/** Whether a table lacks a column. */
export const lacksColumn = (thrown: unknown): boolean => codeOf(thrown) === '42703'

/** Whether a role lacks a privilege. */
export const isDenied = (thrown: unknown): boolean => codeOf(thrown) === '42501'

/** Whether the database lacks the language `plpgsql`, in which the functions of triggers are written. */
export const lacksLanguage = (thrown: unknown): boolean => codeOf(thrown) === '42704'

/** Whether a lock wait timed out. */
export const isLockTimeout = (thrown: unknown): boolean => codeOf(thrown) === '55P03'

/** Whether a value is too long for an index. */
export const isTooLong = (thrown: unknown): boolean => codeOf(thrown) === '54000'

/** Whether PostgreSQL cannot compile a regular expression. */
export const isInvalidRegex = (thrown: unknown): boolean => codeOf(thrown) === '2201B'

/** Whether a table or a schema is missing. */
export const isUndefined = (thrown: unknown): boolean => /^(?:42P01|3F000)$/.test(codeOf(thrown))

/**
 * Whether a prepared statement is missing or exists already, because a pooler has switched to another server
 * connection.
 */
export const isUnprepared = (thrown: unknown): boolean => /^(?:26000|42P05)$/.test(codeOf(thrown))

/** Whether a server accepts no writes, because it is a standby or a former primary. */
export const isReadOnly = (thrown: unknown): boolean => codeOf(thrown) === '25006'

/**
 * Whether a failed attempt had no effect and can be retried: after a serialization failure or a deadlock, a missing
 * prepared statement, a statement that was not sent, or a write to a server that accepts no writes.
 */
export const isRepeatable = (thrown: unknown): boolean =>
  /^(?:40001|40P01)$/.test(codeOf(thrown)) || isUnprepared(thrown) || isReadOnly(thrown) || isUnsent(thrown)

/** The error for a connection that failed. The server may have run the statements that were sent over it. */
export class LostConnection extends Error {
  constructor(cause: unknown) {
    super('the connection to the database failed', { cause })
    this.name = 'LostConnection'
  }
}

/** The error for a statement that was not sent, because its connection had already failed. */
export class UnsentStatement extends LostConnection {
  constructor() {
    super(undefined)
    this.name = 'UnsentStatement'
  }
}

/**
 * Whether a statement did not run: it was not sent, or the server had already closed its idle session
 * (`idle_session_timeout`).
 */
const isUnsent = (thrown: unknown): boolean => thrown instanceof UnsentStatement || codeOf(thrown) === '57P05'

/**
 * The error for a write that was committed, but whose wait for the standby was cancelled. A fail-over may lose the
 * write.
 */
export class UnconfirmedCommit extends LostConnection {
  constructor() {
    super(undefined)
    this.name = 'UnconfirmedCommit'
    this.message = 'the write is committed, but the wait for its confirmation by the standby was cancelled'
  }
}

/** Returns a server error unchanged, and wraps any other error in a `LostConnection`. */
export const classify = (thrown: unknown): unknown =>
  codeOf(thrown) === '' ? new LostConnection(thrown) : thrown

/** Whether the connection is lost or being closed, for example after a transaction that took too long. */
export const isLost = (thrown: unknown): boolean =>
  thrown instanceof LostConnection || /^(?:08|57P|25P0[34])/.test(codeOf(thrown))

/**
 * The codes of errors that count as an unavailable database: errors of connections, resources and privileges,
 * interventions by an operator, and writes to a standby.
 */
const UNAVAILABLE = /^(?:08|26000|28|3D|40|42501|53|55P03|57|58|25006)/

/** Creates the error for a database that does not answer. */
export const unavailable = (cause: unknown): ServiceError =>
  new ServiceError('storage_unavailable', 'The database does not answer.', { cause })

/** Creates the error for a write that may or may not have happened. */
export const outcomeUnknown = (cause: unknown): ServiceError =>
  new ServiceError(
    'outcome_unknown',
    'The database did not confirm the write. It may or may not have taken effect.',
    { cause },
  )

/** Creates the error for a request that is rejected because the queue is full. */
export const overloaded = (): ServiceError =>
  new ServiceError('overloaded', 'Too many requests are waiting for the database. Try again later.')

/**
 * Returns the error for the caller of an operation: `storage_unavailable` if the database is not available, otherwise
 * the error itself, which is a bug of the service.
 */
export function explain(thrown: unknown): unknown {
  return isLost(thrown) || UNAVAILABLE.test(codeOf(thrown)) ? unavailable(thrown) : thrown
}

/** Rejects with the error for the caller of an operation if `work` rejects. */
export const explained = <T>(work: Promise<T>): Promise<T> =>
  work.catch((thrown: unknown) => {
    throw explain(thrown)
  })

/**
 * Returns the error for the caller of a write: `outcome_unknown` after a lost connection, otherwise as `explain`
 * does.
 */
export function explainWrite(thrown: unknown): unknown {
  return isLost(thrown) && !isUnsent(thrown) ? outcomeUnknown(thrown) : explain(thrown)
}
