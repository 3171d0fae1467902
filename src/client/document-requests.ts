import type { Addressed, ConditionOptions, CreateOptions } from './types.js'
import { fault, only, refuseOthers } from './write-json.js'

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

/** A part of a path. Throws `TypeError` for what would address something else, as a path outside does. */
export function pathOf(name: unknown, others = /^\.{0,2}$/): string {
  if (typeof name !== 'string' || others.test(name)) throw fault('a path', `takes no ${name}`)
  return `/${encodeURIComponent(name)}`
}

/** Makes the requests of one collection; `etags` holds the state in which each document was read. */
export function createRequests(collection: string, etags: WeakMap<object, string>) {
  const path = pathOf(collection)

  // One of these ids would address the whole collection, what is outside it, or a stream without end.
  const at = (document: Addressed): string =>
    path + pathOf(Object(document)._id ?? document, /^(\.{0,2}|changes)$/)

  const stateOf = (document: Addressed) => etags.get(Object(document))

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
      if (ifUnchanged && !ifMatch) throw fault('ifUnchanged', 'takes what was read')
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
