import type { Addressed, ConditionOptions, CreateOptions } from './types.js'
import { fault, only, refuseOthers } from './write-query.js'

/** The request for one document, in the form of a batch operation (CONTRACT.md §2, "Batch"). */
export interface DocumentRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly ifMatch?: string | undefined
  readonly ifNoneMatch?: string
  readonly body?: object | undefined
  /** The signal of a call outside a batch; an operation of a batch has none. */
  readonly signal?: AbortSignal | undefined
}

/** Returns a name as one segment of a path. Throws `TypeError` for a name that would change the path, such as `..`. */
export function pathOf(name: unknown, others = /^\.{0,2}$/): string {
  if (typeof name !== 'string' || others.test(name)) throw fault('a path', `cannot be ${name}`)
  return `/${encodeURIComponent(name)}`
}

/**
 * Creates the functions that build the requests for the documents of one collection. `stateOf` returns the entity tag
 * of a document that the client has read.
 */
export function createRequests(collection: string, stateOf: (document: Addressed) => string | undefined) {
  const path = pathOf(collection)

  // These ids are rejected: an empty one or `.` would address the whole collection, `..` another path, and `changes` an
  // endless stream.
  const at = (document: Addressed): string =>
    path + pathOf(Object(document)._id ?? document, /^(\.{0,2}|changes)$/)

  const change =
    (method: DocumentRequest['method']) =>
    (document: Addressed, body?: object, others?: object): DocumentRequest => {
      refuseOthers(others)
      return { method, path: at(document), ifMatch: stateOf(document), body }
    }

  return {
    get(document: Addressed, { ifUnchanged, ...others }: ConditionOptions = {}): DocumentRequest {
      refuseOthers(others)
      const ifMatch = ifUnchanged ? stateOf(document) : undefined
      if (ifUnchanged && !ifMatch) throw fault('ifUnchanged', 'needs a read document')
      return { method: 'GET', path: at(document), ifMatch }
    },
    create(body: object, { id, ...others }: CreateOptions = {}): DocumentRequest {
      return {
        ...(id === undefined ? { method: 'POST', path } : { method: 'PUT', path: at(id), ifNoneMatch: '*' }),
        body,
        ...only(others),
      }
    },
    update: change('PATCH'),
    replace: change('PUT'),
    delete: change('DELETE'),
  }
}
