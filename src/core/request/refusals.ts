import { type Fault, isServiceError, ServiceError } from '../errors.js'
import type { Reference } from '../fields/schema/references.js'
import { toPointerPart } from '../json/pointer.js'
import type { KnownCaller } from '../permissions/caller.js'

/** The error of a denied operation, for an anonymous or a signed-in caller (CONTRACT.md §5, "Denied"). */
export const denied = (caller: KnownCaller | null): ServiceError =>
  caller === null
    ? new ServiceError('unauthenticated', 'Sign in to do this.')
    : new ServiceError('forbidden', 'You may not do this.')

/**
 * The error of a `check` that fails or a `set` that lacks a value: the same for all callers (CONTRACT.md §5).
 */
export const refused = (): ServiceError => new ServiceError('forbidden', 'You may not store such a document.')

/** The error if registration is closed. */
export const registrationClosed = (): ServiceError => new ServiceError('forbidden', 'Registration is closed.')

/** The error of a create that chooses an account's `_id`. */
export const idGiven = (): ServiceError =>
  new ServiceError('forbidden', 'An account gets its _id from the service.')

/** The error if nothing exists, or nothing that the caller may read. */
export const notFound = (detail = 'Not found.'): ServiceError => new ServiceError('not_found', detail)

/** The error if the document is not in the state that the request expects. */
export const unexpected = (): ServiceError =>
  new ServiceError('precondition_failed', 'The document is not in the state that the request expects.')

/** The most validation errors that `detail` repeats in words; `errors` has all. */
const MAX_DETAILED = 3

/** The error of a body with validation errors. */
export function invalid(faults: readonly Fault[]): ServiceError {
  const words = faults.slice(0, MAX_DETAILED).map(({ path, message }) => `${path || 'The body'} ${message}`)
  const more = faults.length > MAX_DETAILED ? [`and ${faults.length - MAX_DETAILED} more`] : []
  return new ServiceError('validation_failed', [...words, ...more].join(' · '), { errors: faults })
}

/** The error of a strict request if a rule drops properties: it names those that a lenient response would name. */
export const ignoredNames = (names: readonly string[]): ServiceError =>
  invalid(
    names.map((name) => ({
      path: toPointerPart(name),
      code: 'ignored',
      message: 'cannot be written by you',
    })),
  )

/**
 * The validation error is the same for a document that does not exist and for one that the caller may not read
 * (CONTRACT.md §2).
 */
export const unknownReference = ({ path, collection }: Reference): Fault => ({
  path,
  code: 'unknown_reference',
  message: `must be the _id of a document of ${collection} that you may read`,
})

/** The error if a document was deleted while another began to refer to it. */
export const brokenReference = (reference: Reference | undefined, at = ''): ServiceError =>
  invalid(reference ? [unknownReference({ ...reference, path: at + reference.path })] : [])

/**
 * The error of values that are taken. `at` is the path of the document in the body; `others` describes the fields that
 * are not named.
 */
export const conflict = (fields: readonly string[], at = '', others?: string): ServiceError => {
  const paths = fields.map((field) => `${at}/${field}`)
  const words = others === undefined ? fields : [...fields, others]
  return new ServiceError('unique_violation', `Another document has the same ${words.join(' and ')}.`, {
    errors: (others === undefined ? paths : [...paths, at]).map((path) => ({
      path,
      code: 'taken',
      message: 'is taken',
    })),
  })
}

/**
 * Moves an error of a part of a request: `at` is the path of the part in the body, `operation` its index in a batch.
 */
export const relocate = (
  { code, message, errors, cause, retryAfter, status }: ServiceError,
  at: string,
  operation?: number,
): ServiceError =>
  new ServiceError(code, message, {
    errors: errors.map((fault) => ({ ...fault, path: at + fault.path })),
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(status === undefined ? {} : { status }),
    ...(operation === undefined ? {} : { operation }),
    cause,
  })

/** The error after concurrent writes came first in every attempt. */
export const overtaken = (): ServiceError =>
  new ServiceError('overloaded', 'Too many concurrent writes. Try again.')

/** The error of a delete that references prevent. */
export const inUse = (): ServiceError =>
  new ServiceError(
    'reference_in_use',
    'Other documents refer to this one, or to one that would be deleted with it.',
  )

/** The error of a change after which documents that refer to this one would not match it. */
export const disagreeing = (): ServiceError =>
  new ServiceError('reference_in_use', 'Documents that refer to this one must match it.')

/** The error of a token without a session. */
export const invalidToken = (): ServiceError =>
  new ServiceError('invalid_token', 'The token is malformed, expired or ended. Sign in again.')

/** The codes of errors that are failures rather than decisions about the request. */
const FAILURES: readonly string[] = ['internal_error', 'overloaded', 'storage_unavailable', 'outcome_unknown']

/** Whether an error is a decision about the request. */
export const isRefusal = (thrown: unknown): thrown is ServiceError =>
  isServiceError(thrown) && !FAILURES.includes(thrown.code)

const beside = new WeakSet<Error>()

/** Marks the error of an operation that a hook adds to a write. */
export function markBeside(refusal: Error): Error {
  beside.add(refusal)
  return refusal
}

/** Whether a write was rejected because of an operation that a hook adds to it. */
export const isBeside = (thrown: unknown): boolean => thrown instanceof Error && beside.has(thrown)
