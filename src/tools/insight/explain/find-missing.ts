import type { ErrorCode } from '../../../core/errors.js'
import type { MissingRight } from './explanation.js'
import { type ExplainedOperation, placesOf } from './places.js'
import type { ExplainedRun } from './run-request.js'

/** A missing right, and the operation that needs it. */
export interface Missing extends MissingRight {
  readonly place: ExplainedOperation
}

/** Finds the right whose absence caused the rejection: a 401, a 403, or a 404 for a document that exists. */
export function findMissing(run: ExplainedRun): Missing | null {
  const place = placesOf(run).at(-1)
  if (!place) return null
  const { operation, id } = place
  const { status } = run.answer
  // A response to HEAD has no body, and so no error code.
  const code = run.request.method === 'HEAD' ? CODES[status] : run.answer.code
  const collection = operation.collection.name
  if (code === 'unauthenticated' || code === 'forbidden')
    return { operation: operation.operation, collection, document: id, place }
  return code === 'not_found' && id !== null && isThere(run, place, id)
    ? { operation: 'read', collection, document: id, place }
    : null
}

const CODES: { readonly [status: number]: ErrorCode } = {
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
}

/** Whether a document existed when the operation ran, but the caller could not read it. */
function isThere(run: ExplainedRun, { operation, place }: ExplainedOperation, id: string): boolean {
  const look = operation.looks.find(({ document }) => document._id === id)
  if (look) return !look.holds
  const { name } = operation.collection
  // No document was read, so earlier operations of the batch decide, or else the documents that were stored before.
  const earlier =
    place === '' ? [] : placesOf(run).filter((other) => other.place !== place && other.id === id)
  const last = earlier.findLast((other) => other.operation.collection.name === name && isDecisive(other))
  if (last) return last.method !== 'DELETE'
  return run.stored.get(name)?.some(({ _id }) => _id === id) ?? false
}

const isDecisive = ({ method, operation }: ExplainedOperation): boolean =>
  method === 'DELETE' || operation.operation === 'create'
