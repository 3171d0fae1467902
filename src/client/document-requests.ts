import type { Addressed, ConditionOptions, CreateOptions } from './types.js'
import { fault, refuseOthers } from './write-json.js'

/** The request of a call on one document, in the form that an operation of a batch has (CONTRACT.md §2, "Batch"). */
export interface DocumentRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly ifMatch?: string | undefined
  readonly ifNoneMatch?: string
  readonly body?: object | undefined
  /** Of a call of its own; an operation has none. */
  readonly signal?: AbortSignal | undefined
}

/** The path of a collection. */
export const pathOf = (collection: string): string => `/${encodeURIComponent(collection)}`

/** Makes the requests of one collection; `etags` holds the state in which each document was read. */
export function createRequests(collection: string, etags: WeakMap<object, string>) {
  const path = pathOf(collection)

  const at = (document: Addressed): string => {
    const id = typeof document === 'string' ? document : document._id
    // Any of these would address something else: the whole collection, a path outside it, or a stream without end.
    if (typeof id !== 'string' || /^(\.{0,2}|changes)$/.test(id)) throw fault('a document', 'has an _id')
    return `${path}/${encodeURIComponent(id)}`
  }

  const stateOf = (document: Addressed) => etags.get(Object(document))

  const change =
    (method: DocumentRequest['method']) =>
    (document: Addressed, body?: object): DocumentRequest => {
      return { method, path: at(document), ifMatch: stateOf(document), body }
    }

  return {
    get(document: Addressed, { ifUnchanged, ...others }: ConditionOptions = {}): DocumentRequest {
      refuseOthers(others)
      const ifMatch = ifUnchanged ? stateOf(document) : undefined
      if (ifUnchanged && !ifMatch) throw fault('ifUnchanged', 'takes what was read')
      return { method: 'GET', path: at(document), ifMatch }
    },
    create(body: object, { id, signal, ...others }: CreateOptions = {}): DocumentRequest {
      refuseOthers(others)
      return {
        ...(id === undefined ? { method: 'POST', path } : { method: 'PUT', path: at(id), ifNoneMatch: '*' }),
        ...{ body, signal },
      }
    },
    update: change('PATCH'),
    replace: change('PUT'),
    delete: change('DELETE'),
  }
}
