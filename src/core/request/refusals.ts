import { type Fault, isServiceError, ServiceError } from '../errors.js'
import type { Reference } from '../fields/schema/references.js'
import { toPointerPart } from '../json/pointer.js'
import type { KnownCaller } from '../permissions/caller.js'

/** Creates the error for a denied operation of an anonymous or a signed-in caller (CONTRACT.md §5, "Denied"). */
export const denied = (caller: KnownCaller | null): ServiceError =>
  caller === null
    ? new ServiceError('unauthenticated', 'Sign in to do this.')
    : new ServiceError('forbidden', 'You may not do this.')

/**
 * Creates the error for a `check` that fails or a `set` that lacks a value. It is the same for all callers (CONTRACT.md
 * §5).
 */
export const refused = (): ServiceError => new ServiceError('forbidden', 'You may not store such a document.')

/** Creates the error for a document or path that does not exist or that the caller may not read. */
export const notFound = (detail = 'Not found.'): ServiceError => new ServiceError('not_found', detail)

/** Creates the error for a document that is not in the state that the request expects. */
export const unexpected = (): ServiceError =>
  new ServiceError('precondition_failed', 'The document is not in the state that the request expects.')

/** The maximum number of validation errors that `detail` repeats in words; `errors` contains all of them. */
const MAX_DETAILED = 3

/** Creates the error for a body with validation errors. */
export function invalid(faults: readonly Fault[]): ServiceError {
  const words = faults.slice(0, MAX_DETAILED).map(({ path, message }) => `${path || 'The body'} ${message}`)
  const more = faults.length > MAX_DETAILED ? [`and ${faults.length - MAX_DETAILED} more`] : []
  return new ServiceError('validation_failed', [...words, ...more].join(' · '), { errors: faults })
}

/**
 * Creates the error for a strict request with properties that a rule drops: those that a lenient response would list as
 * ignored.
 */
export const ignoredNames = (names: readonly string[]): ServiceError =>
  invalid(
    names.map((name) => ({
      path: toPointerPart(name),
      code: 'ignored',
      message: 'cannot be written by you',
    })),
  )

/**
 * Creates the validation error for a reference to an unknown document. It is the same for a document that does not
 * exist, for a document that the caller may not read, and for one that does not `match` (CONTRACT.md §2).
 */
export function unknownReference({ path, collection, field: { definition } }: Reference): Fault {
  const matching =
    definition.type === 'reference' && definition.match ? ' and that matches this document' : ''
  const message = `must be the _id of a document of ${collection} that you may read${matching}`
  return { path, code: 'unknown_reference', message }
}

/** Creates the error for a reference to a document that was deleted while the reference was being stored. */
export const brokenReference = (reference: Reference | undefined, at = ''): ServiceError =>
  invalid(reference ? [unknownReference({ ...reference, path: at + reference.path })] : [])

/**
 * Creates the error for unique values that are taken. `at` is the path of the document in the body; `others` describes,
 * in general words, further taken fields whose names the caller may not know.
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
 * Converts the error of a part of a request into an error of the whole request. `at` is the path of the part in the
 * body, `operation` is its index in a batch.
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

/** Creates the error for a write that lost all its attempts to concurrent writes. */
export const overtaken = (): ServiceError =>
  new ServiceError('overloaded', 'Too many concurrent writes. Try again.')

/** Creates the error for a delete that references prevent. */
export const inUse = (): ServiceError =>
  new ServiceError(
    'reference_in_use',
    'Other documents refer to this one, or to one that would be deleted with it.',
  )

/** Creates the error for a change after which documents that refer to the changed document would no longer match it. */
export const disagreeing = (): ServiceError =>
  new ServiceError('reference_in_use', 'Documents that refer to this one would no longer match it.')

/** Creates the error for a token that has no valid session. */
export const invalidToken = (): ServiceError =>
  new ServiceError(
    'invalid_token',
    'The token is malformed or expired, or its session has ended. Sign in again.',
  )

/** Creates the error for a write of another site with a cookie. It is the same whether or not the cookie is a session. */
export const crossSite = (): ServiceError =>
  new ServiceError(
    'cross_site',
    'Only pages of this service, and of origins that it trusts, may write with its cookie.',
  )

/** The codes of errors that report a failure of the service. All other errors are decisions about the request. */
const FAILURES: readonly string[] = ['internal_error', 'overloaded', 'storage_unavailable', 'outcome_unknown']

/** Whether an error is a decision about the request rather than a failure of the service. */
export const isRefusal = (thrown: unknown): thrown is ServiceError =>
  isServiceError(thrown) && !FAILURES.includes(thrown.code)

const beside = new WeakSet<Error>()

/** Marks an error as that of an operation that a hook adds to a write. */
export function markBeside(refusal: Error): Error {
  beside.add(refusal)
  return refusal
}

/** Whether a write was rejected because of an operation that a hook adds to it. */
export const isBeside = (thrown: unknown): boolean => thrown instanceof Error && beside.has(thrown)
