import { createRequests, type DocumentRequest } from './document-requests.js'
import { fault } from './write-query.js'

type Make = (...given: never[]) => DocumentRequest

/**
 * The function that builds a batch: it gets the collections by name; their calls return operations and send nothing.
 */
export type Build = (b: object) => unknown

/** The operations that `build` returns. Throws `TypeError` for a list with anything but operations of this batch. */
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
  // Spreading also visits holes.
  const operations = Array.isArray(listed) ? [...listed] : []
  if (!operations[0] || !operations.every((operation) => made.has(operation) && !operation.signal))
    throw fault('a batch', 'must be an array of its operations')
  return operations
}
