import { ServiceError } from '../../errors.js'
import { textOf } from '../sql/faults.js'

/** The code of an error that the server itself answered (SQLSTATE); empty for anything else. */
const codeOf = (thrown: unknown): string => (textOf(thrown, 'severity') ? textOf(thrown, 'code') : '')

/** The unique index or primary key that refused; `undefined` for any other fault. */
export const takenBy = (thrown: unknown): string | undefined =>
  codeOf(thrown) === '23505' ? textOf(thrown, 'constraint') : undefined

/** A value is too long for an index. */
export const isTooLong = (thrown: unknown): boolean => codeOf(thrown) === '54000'

/** The expression is beyond what PostgreSQL compiles. */
export const isInvalidRegex = (thrown: unknown): boolean => codeOf(thrown) === '2201B'

/** What is not there yet: a table or a schema. */
export const isUndefined = (thrown: unknown): boolean => /^(?:42P01|3F000)$/.test(codeOf(thrown))

/** Somebody between us and the server does not keep prepared statements. */
export const isUnprepared = (thrown: unknown): boolean => /^(?:26000|42P05)$/.test(codeOf(thrown))

/** Nothing has been done, and the same may be tried again: the transaction lost against another, or was not prepared. */
export const isRepeatable = (thrown: unknown): boolean =>
  /^(?:40001|40P01)$/.test(codeOf(thrown)) || isUnprepared(thrown)

/** A connection failed: what was sent over it may have been done. */
export class LostConnection extends Error {
  constructor(cause: unknown) {
    super('the connection to the database failed', { cause })
    this.name = 'LostConnection'
  }
}

/** What `pg` threw: an answer of the server, or a connection that is lost. */
export const classify = (thrown: unknown): unknown =>
  codeOf(thrown) === '' ? new LostConnection(thrown) : thrown

/** The connection is lost or going. */
export const isLost = (thrown: unknown): boolean =>
  thrown instanceof LostConnection || /^(?:08|57P)/.test(codeOf(thrown))

/** Connections, resources, operators, rights, a standby that may not write. */
const UNAVAILABLE = /^(?:08|26000|28|3D|40|42501|53|55P03|57|58|25006)/

export const unavailable = (cause: unknown): ServiceError =>
  new ServiceError('storage_unavailable', 'The database does not answer.', { cause })

/** What a caller is told: that the storage does not answer, or the fault itself where it is ours. */
export function explain(thrown: unknown): unknown {
  return isLost(thrown) || UNAVAILABLE.test(codeOf(thrown)) ? unavailable(thrown) : thrown
}

/** The same of a statement that writes: where the connection is lost, nobody knows what came of it. */
export function explainWrite(thrown: unknown): unknown {
  if (!isLost(thrown)) return explain(thrown)
  return new ServiceError('outcome_unknown', 'The connection was lost during a write.', { cause: thrown })
}
