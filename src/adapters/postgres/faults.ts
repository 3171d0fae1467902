import { ServiceError } from '../../core/errors.js'
import { textOf } from '../sql/faults.js'

/** The code of a server error (SQLSTATE); empty for any other error. */
export const codeOf = (thrown: unknown): string => (textOf(thrown, 'severity') ? textOf(thrown, 'code') : '')

/** The violated unique index or primary key; `undefined` for any other error. */
export const takenBy = (thrown: unknown): string | undefined =>
  codeOf(thrown) === '23505' ? textOf(thrown, 'constraint') : undefined

/** Whether a table, index, view or type of this name exists already. */
export const isExisting = (thrown: unknown): boolean => /^(?:42P07|42710)$/.test(codeOf(thrown))

/** Whether a table lacks a column. */
export const lacksColumn = (thrown: unknown): boolean => codeOf(thrown) === '42703'

/** Whether a role lacks a right. */
export const isDenied = (thrown: unknown): boolean => codeOf(thrown) === '42501'

/** Whether the database lacks the language of functions. */
export const lacksLanguage = (thrown: unknown): boolean => codeOf(thrown) === '42704'

/** Whether a lock wait timed out. */
export const isLockTimeout = (thrown: unknown): boolean => codeOf(thrown) === '55P03'

/** Whether a value is too long for an index. */
export const isTooLong = (thrown: unknown): boolean => codeOf(thrown) === '54000'

/** Whether PostgreSQL cannot compile a regular expression. */
export const isInvalidRegex = (thrown: unknown): boolean => codeOf(thrown) === '2201B'

/** Whether a table or a schema is missing. */
export const isUndefined = (thrown: unknown): boolean => /^(?:42P01|3F000)$/.test(codeOf(thrown))

/** Whether a pooler in between did not keep a prepared statement. */
export const isUnprepared = (thrown: unknown): boolean => /^(?:26000|42P05)$/.test(codeOf(thrown))

/** Whether a server takes no writes: a standby, or a former primary. */
export const isReadOnly = (thrown: unknown): boolean => codeOf(thrown) === '25006'

/**
 * Whether a failed attempt had no effect and can be retried: a serialization failure or deadlock, a missing prepared
 * statement, an unsent statement, or a server that takes no writes.
 */
export const isRepeatable = (thrown: unknown): boolean =>
  /^(?:40001|40P01)$/.test(codeOf(thrown)) || isUnprepared(thrown) || isReadOnly(thrown) || isUnsent(thrown)

/** The error of a failed connection: the statements sent over it may have been run. */
export class LostConnection extends Error {
  constructor(cause: unknown) {
    super('the connection to the database failed', { cause })
    this.name = 'LostConnection'
  }
}

/** The error of a statement that was not sent, because the connection had failed before. */
export class UnsentStatement extends LostConnection {
  constructor() {
    super(undefined)
    this.name = 'UnsentStatement'
  }
}

/**
 * Whether a statement was not run: it was not sent, or the server had already closed its idle session
 * (`idle_session_timeout`).
 */
const isUnsent = (thrown: unknown): boolean => thrown instanceof UnsentStatement || codeOf(thrown) === '57P05'

/** The error of a committed write whose wait for the standby was cancelled: it may get lost. */
export class UnconfirmedCommit extends LostConnection {
  constructor() {
    super(undefined)
    this.name = 'UnconfirmedCommit'
    this.message = 'the wait for the standby was cancelled'
  }
}

/** Distinguishes a server error from a lost connection. */
export const classify = (thrown: unknown): unknown =>
  codeOf(thrown) === '' ? new LostConnection(thrown) : thrown

/** Whether the connection is lost or closing, as after a transaction that took too long. */
export const isLost = (thrown: unknown): boolean =>
  thrown instanceof LostConnection || /^(?:08|57P|25P0[34])/.test(codeOf(thrown))

/** Connections, resources, operators, rights, and a standby that may not write. */
const UNAVAILABLE = /^(?:08|26000|28|3D|40|42501|53|55P03|57|58|25006)/

/** The error of a database that does not answer. */
export const unavailable = (cause: unknown): ServiceError =>
  new ServiceError('storage_unavailable', 'The database does not answer.', { cause })

/** The error of a write that may have happened. */
export const outcomeUnknown = (cause: unknown): ServiceError =>
  new ServiceError('outcome_unknown', 'The write was not confirmed.', { cause })

/** The error of a request that found the queue full. */
export const overloaded = (): ServiceError =>
  new ServiceError('overloaded', 'Too many requests wait for the database.')

/** The error for the caller: `storage_unavailable`, or the error itself if it is a bug of the service. */
export function explain(thrown: unknown): unknown {
  return isLost(thrown) || UNAVAILABLE.test(codeOf(thrown)) ? unavailable(thrown) : thrown
}

/** The same for a write: its outcome is unknown after a lost connection. */
export function explainWrite(thrown: unknown): unknown {
  return isLost(thrown) && !isUnsent(thrown) ? outcomeUnknown(thrown) : explain(thrown)
}
