import type { ErrorCode } from '../../../core/errors.js'
import type { MissingRight } from './explanation.js'
import { type ExplainedOperation, placesOf } from './places.js'
import type { ExplainedRun } from './run-request.js'

/** A missing right, and the operation that needs it. */
export interface Missing extends MissingRight {
  readonly place: ExplainedOperation
}

/** The right without which a request was rejected: 401, 403, or the 404 of a document that exists. */
export function findMissing(run: ExplainedRun): Missing | null {
  const place = placesOf(run).at(-1)
  if (!place) return null
  const { operation, id } = place
  const { status } = run.answer
  // An answer to HEAD has no error response body.
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

/** Whether a document existed when the operation ran. */
function isThere(run: ExplainedRun, { operation, place }: ExplainedOperation, id: string): boolean {
  const look = operation.looks.find(({ document }) => document._id === id)
  if (look) return !look.holds
  const { name } = operation.collection
  // No document was read: the stored documents and the earlier operations of a batch decide.
  const earlier =
    place === '' ? [] : placesOf(run).filter((other) => other.place !== place && other.id === id)
  const last = earlier.findLast((other) => other.operation.collection.name === name && isDecisive(other))
  if (last) return last.method !== 'DELETE'
  return run.stored.get(name)?.some(({ _id }) => _id === id) ?? false
}

const isDecisive = ({ method, operation }: ExplainedOperation): boolean =>
  method === 'DELETE' || operation.operation === 'create'
