import { type Build, listOperations } from './batch.js'
import { ClientError } from './client-error.js'
import { createRequests, type DocumentRequest, pathOf } from './document-requests.js'
import type { Addressed, CallOptions, Client, ClientOptions, CreateOptions, HandlerTarget } from './types.js'
import { writeQuery } from './write-query.js'

export type {
  CollectionName,
  CollectionsOf,
  CollectionTypes,
  CreateBodyOf,
  DocumentOf,
  UpdateBodyOf,
} from '../infer/collections.js'
export { ClientError, type ClientErrorCode, isClientError } from './client-error.js'
export type { FilterOf, SortOf } from './query-types.js'
export type {
  Addressed,
  AuthClient,
  BatchCollection,
  BatchCollections,
  BatchResults,
  CallOptions,
  Client,
  ClientOptions,
  CollectionClient,
  ConditionOptions,
  CountOptions,
  CreateOptions,
  GetOptions,
  HandlerTarget,
  ListOptions,
  Operation,
  SignedIn,
} from './types.js'

/** An answer; the service ensures that its JSON body has the form that the types promise. */
interface Answer {
  // biome-ignore lint/suspicious/noExplicitAny: what an answer holds is the service's promise
  readonly body: any
  readonly headers: Headers
}

interface Asked {
  readonly signal?: AbortSignal | undefined
  readonly headers?: { readonly [name: string]: string | undefined }
  readonly body?: unknown
  /** Whether a body has the expected form. */
  readonly isRight?: (body: Answer['body']) => boolean
  /** Whether the call signs in: a stale token must not prevent that. */
  readonly isSigningIn?: boolean
}

const join = (path: string, query: string): string => (query ? `${path}?${query}` : path)

const isDocument = (body: Answer['body']): boolean => typeof body?._id === 'string'

const isResult = ({ method }: DocumentRequest, body: Answer['body']): boolean =>
  method === 'DELETE' || isDocument(body)

/** JSON would write numbers and dates that are not valid as `null`, which removes in a patch. */
function refuseLoss(this: { readonly [name: string]: unknown }, name: string, value: unknown): unknown {
  const isLost = typeof value === 'number' ? !Number.isFinite(value) : value === null && this[name] !== null
  if (isLost) throw new TypeError(`${name} takes no ${this[name]}`)
  return value
}

/**
 * Creates a client of a service: behind a URL, with its base path, or of a handler in this process. With
 * `createClient<typeof config>(url)`, or the `Collections` that `collection-service types` prints, it knows
 * the collections; from a handler it infers them.
 *
 * @example
 * ```ts
 * const client = createClient<Collections>('https://example.com/api')
 * const notes = await client.collection('notes').list({ sort: { createdAt: 'desc' }, limit: 10 })
 * ```
 */
export function createClient<C = unknown>(
  target: string | URL | HandlerTarget<C>,
  options: ClientOptions = {},
): Client<C> {
  const etags = new WeakMap<object, string>()
  const base = typeof target === 'function' ? 'http://localhost' : String(target).replace(/\/+$/, '')

  async function ask(method: string, path: string, asked: Asked = {}): Promise<Answer> {
    const { signal = null, body, isRight } = asked
    signal?.throwIfAborted()
    const headers = new Headers(options.headers)
    if (client.token !== undefined && !asked.isSigningIn)
      headers.set('authorization', `Bearer ${client.token}`)
    for (const [name, value] of Object.entries(asked.headers ?? {})) if (value) headers.set(name, value)
    const init: RequestInit = { method, headers, signal }
    if (body !== undefined) {
      headers.set('content-type', 'application/json')
      init.body = JSON.stringify(body, refuseLoss)
    }
    const response = await (typeof target === 'function'
      ? target(new Request(base + path, init))
      : (options.fetch ?? fetch)(base + path, init))
    const text = await response.text()
    // A handler also answers clients that have disconnected.
    signal?.throwIfAborted()
    let answered: Answer['body']
    try {
      answered = text && JSON.parse(text)
    } catch {}
    if (!response.ok || (isRight && !isRight(answered))) throw new ClientError(response, answered)
    return { body: answered, headers: response.headers }
  }

  async function signIn(way: string, body: unknown, asked?: CallOptions, isSigningIn = true) {
    const isRight = (answered: Answer['body']): boolean => typeof answered?.token === 'string'
    const answer = await ask('POST', `/auth/${way}`, { ...asked, body, isRight, isSigningIn })
    client.token = answer.body.token
    return answer.body
  }

  async function signOut(way: string, asked?: CallOptions): Promise<void> {
    await ask('POST', `/auth/${way}`, asked)
    client.token = undefined
  }

  /** The result of a request; it remembers the state in which it was read. */
  function take(request: DocumentRequest, document: Answer['body'], etag?: string | null): Answer['body'] {
    if (request.method === 'DELETE') return undefined
    if (etag) etags.set(document, etag)
    return document
  }

  async function send(request: DocumentRequest, asked?: CallOptions, query = ''): Promise<Answer['body']> {
    const { method, path, body, ifMatch, ifNoneMatch } = request
    const answer = await ask(method, join(path, query), {
      signal: asked?.signal,
      headers: { 'if-match': ifMatch, 'if-none-match': ifNoneMatch },
      body,
      isRight: (answered) => isResult(request, answered),
    })
    return take(request, answer.body, answer.headers.get('etag'))
  }

  async function batch(build: Build, asked?: CallOptions) {
    const operations = listOperations(build, etags)
    const isRight = (answered: Answer['body']): boolean =>
      answered?.results?.length === operations.length &&
      operations.every((operation, i) => isResult(operation, answered.results[i]?.body))
    const { body } = await ask('POST', '/_batch', { signal: asked?.signal, body: { operations }, isRight })
    return operations.map((operation, i) => take(operation, body.results[i]?.body, body.results[i]?.etag))
  }

  function collection(name: string) {
    const path = pathOf(name)
    const requests = createRequests(name, etags)

    const list = (query: string, asked?: CallOptions): Promise<Answer> =>
      ask('GET', join(path, query), { signal: asked?.signal, isRight: Array.isArray })

    return {
      async list(asked: CallOptions = {}) {
        return (await list(writeQuery(asked), asked)).body
      },
      async *pages(asked: CallOptions = {}) {
        let query: string | undefined = writeQuery(asked)
        while (query !== undefined) {
          const { body, headers }: Answer = await list(query, asked)
          if (body.length > 0)
            yield body
            // Only the query is used: the server's paths may differ from the client's, and the token must not
            // go elsewhere.
          ;[, query] = /<[^>?]*\?([^>]*)>; *rel="next"/.exec(headers.get('link') ?? '') ?? []
        }
      },
      async count(asked: CallOptions = {}) {
        const isRight = (body: Answer['body']): boolean => typeof body?.total === 'number'
        const { body } = await ask('GET', join(`${path}/count`, writeQuery(asked)), { ...asked, isRight })
        return body.total
      },
      async get(document: Addressed, asked: CallOptions = {}) {
        return send(requests.get(document), asked, writeQuery(asked))
      },
      async create(body: object, options?: CreateOptions) {
        return send(requests.create(body, options), options)
      },
      async createMany(documents: readonly object[], asked?: CallOptions) {
        const isRight = (body: Answer['body']): boolean => Array.isArray(body?.documents)
        return (await ask('POST', `${path}/bulk`, { ...asked, body: { documents }, isRight })).body.documents
      },
      async update(document: Addressed, body: object, asked?: CallOptions) {
        return send(requests.update(document, body), asked)
      },
      async replace(document: Addressed, body: object, asked?: CallOptions) {
        return send(requests.replace(document, body), asked)
      },
      async delete(document: Addressed, asked?: CallOptions) {
        return send(requests.delete(document), asked)
      },
    }
  }

  const client = {
    token: options.token,
    collection,
    batch,
    auth: {
      register: (body: object, asked?: CallOptions) => signIn('register', body, asked),
      login: (body: object, asked?: CallOptions) => signIn('login', body, asked),
      logout: (asked?: CallOptions) => signOut('logout', asked),
      logoutAll: (asked?: CallOptions) => signOut('logout-all', asked),
      changeSecret: (body: object, asked?: CallOptions) => signIn('change-secret', body, asked, false),
      sessions: async (asked?: CallOptions) =>
        (await ask('GET', '/auth/sessions', { ...asked, isRight: Array.isArray })).body,
      async endSession(id: string, asked?: CallOptions) {
        await ask('DELETE', `/auth/sessions/${encodeURIComponent(id)}`, asked)
      },
      me: async (asked?: CallOptions) =>
        (await ask('GET', '/auth/me', { ...asked, isRight: isDocument })).body,
    },
  }
  // The configuration decides the form of the answers; the compiler cannot check that here.
  return client as unknown as Client<C>
}
