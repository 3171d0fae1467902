import type { CallOptions } from './account-types.js'
import { createRequests, type DocumentRequest } from './requests.js'
import { type ClientAnswer, isDocument, type Transport } from './transport.js'
import { fault, only } from './write-query.js'

type Make = (...given: never[]) => DocumentRequest

/**
 * The function that builds a batch. It receives the collections by name; their calls return operations and send
 * nothing.
 */
type Build = (b: object) => unknown

/**
 * Calls `build` and returns the operations in its result. Throws `TypeError` if the result is not an array, is empty,
 * or contains anything but operations of this batch.
 */
function listOperations(build: Build, stateOf: Transport['stateOf']): readonly DocumentRequest[] {
  const made = new Set<unknown>()
  const noting =
    (make: Make): Make =>
    (...given) => {
      const operation = make(...given)
      made.add(operation)
      return operation
    }
  const collectionOf = (name: string): object => {
    const requests: { [call: string]: Make } = createRequests(name, stateOf)
    for (const call in requests) requests[call] = noting(requests[call] as Make)
    return requests
  }
  const listed = build(
    new Proxy({}, { get: (_, name) => (typeof name === 'string' ? collectionOf(name) : undefined) }),
  )
  // The spread turns holes of the array into `undefined`, which the check below rejects.
  const operations = Array.isArray(listed) ? [...listed] : []
  if (!operations[0] || !operations.every((operation) => made.has(operation) && !operation.signal))
    throw fault('a batch', 'must be an array of its operations')
  return operations
}

const areResults = (results: ClientAnswer['body'], operations: ReturnType<typeof listOperations>): boolean =>
  results?.length === operations.length &&
  operations.every(({ method }, i) => method === 'DELETE' || isDocument(results[i]?.body))

/** Creates the call `batch`. */
export const createBatch =
  ({ ask, tell, take, stateOf }: Transport) =>
  async (build: Build, asked?: CallOptions) => {
    const operations = listOperations(build, stateOf)
    const isRight = (answered: ClientAnswer['body']): boolean => areResults(answered?.results, operations)
    const { body } = await ask('POST', '/_batch', { ...only(asked), body: { operations }, isRight })
    const value = operations.map(({ method, path }, operation) =>
      tell(body.results[operation]?.ignored ?? [], { method, path, operation }),
    )
    const results = operations.map((_, i) => take(body.results[i]?.body, body.results[i]?.etag))
    return Object.defineProperty(results, 'ignored', { value })
  }
