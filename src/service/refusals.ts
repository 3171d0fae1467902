import { type Fault, ServiceError } from '../errors.js'
import type { KnownCaller } from '../permissions/caller.js'
import type { Reference } from '../schema/references.js'

/** CONTRACT.md §5, "Denied": nobody is signed in, or somebody who may not do this. */
export const denied = (caller: KnownCaller | null): ServiceError =>
  caller === null
    ? new ServiceError('unauthenticated', 'Sign in to do this.')
    : new ServiceError('forbidden', 'You may not do this.')

/** A `check` that failed, or a `set` that cannot be: for everyone the same (CONTRACT.md §5). */
export const refused = (): ServiceError => new ServiceError('forbidden', 'You may not store such a document.')

export const registrationClosed = (): ServiceError => new ServiceError('forbidden', 'Registration is closed.')

export const idGiven = (): ServiceError =>
  new ServiceError('forbidden', 'An account gets its _id from the service.')

export const notFound = (detail = 'There is nothing here.'): ServiceError =>
  new ServiceError('not_found', detail)

/** What a request says of the document's state does not hold. */
export const unexpected = (): ServiceError =>
  new ServiceError('precondition_failed', 'The document is not in the state that the request expects.')

/** Faults that `detail` repeats in words; `errors` has them all. */
const MAX_DETAILED = 3

/** The answer to a body with faults. */
export function invalid(faults: readonly Fault[]): ServiceError {
  const words = faults.slice(0, MAX_DETAILED).map(({ path, message }) => `${path || 'The body'} ${message}`)
  const more = faults.length > MAX_DETAILED ? [`and ${faults.length - MAX_DETAILED} more`] : []
  return new ServiceError('validation_failed', [...words, ...more].join(' · '), { errors: faults })
}

/** One and the same fault for what does not exist and for what may not be read (CONTRACT.md §2). */
export const unknownReference = ({ path, collection }: Reference): Fault => ({
  path,
  code: 'unknown_reference',
  message: `must be the _id of a document of ${collection} that you may read`,
})

/** What is answered where a document was deleted while another was to refer to it. */
export const brokenReference = (reference: Reference | undefined): ServiceError =>
  invalid(reference ? [unknownReference(reference)] : [])

/** The answer to a value that is taken. `at`: where the document lies in the body. */
export const conflict = (fields: readonly string[], at = ''): ServiceError =>
  new ServiceError('unique_violation', `Another document has the same ${fields.join(' and ')}.`, {
    errors: fields.map((field) => ({ path: `${at}/${field}`, code: 'taken', message: 'is taken' })),
  })

/** Somebody else came first, again and again. */
export const overtaken = (): ServiceError =>
  new ServiceError('overloaded', 'Others keep writing here. Try again.')

export const inUse = (): ServiceError =>
  new ServiceError('reference_in_use', 'Other documents refer to this one, or to one that would go with it.')

export const invalidToken = (): ServiceError =>
  new ServiceError('invalid_token', 'The token is malformed, expired or ended. Sign in again.')
