import { createRequests, type DocumentRequest } from './document-requests.js'
import { fault } from './write-query.js'

type Make = (...given: never[]) => DocumentRequest

/**
 * The function that builds a batch. It receives the collections by name; their calls return operations and send
 * nothing.
 */
export type Build = (b: object) => unknown

/**
 * Calls `build` and returns the operations in its result. Throws `TypeError` if the result is not an array, is empty,
 * or contains anything but operations of this batch.
 */
export function listOperations(build: Build, etags: WeakMap<object, string>): readonly DocumentRequest[] {
  const made = new Set<unknown>()
  const noting =
    (make: Make): Make =>
    (...given) => {
      const operation = make(...given)
      made.add(operation)
      return operation
    }
  const collectionOf = (name: string): object => {
    const requests: { [call: string]: Make } = createRequests(name, etags)
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
