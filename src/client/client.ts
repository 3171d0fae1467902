import type { CallOptions } from './account-types.js'
import { namesIn, placeOf } from './answers.js'
import { ClientError } from './client-error.js'
import { createFollowing, watch } from './following.js'
import type {
  Addressed,
  Client,
  ClientOptions,
  ConditionOptions,
  CreateOptions,
  HandlerTarget,
  IgnoredContext,
} from './types.js'
import { fault, only, refuseOthers, writeJson, writeQuery } from './write-query.js'

export type {
  AccountTypes,
  CollectionName,
  CollectionsOf,
  CollectionTypes,
  CreateBodyOf,
  DocumentOf,
  UpdateBodyOf,
} from '../infer/collections.js'
export type {
  AuthClient,
  CallOptions,
  Identified,
  Registered,
  SessionView,
  SignedIn,
} from './account-types.js'
export type { ChangeEvent, ChangesOptions, LiveOptions } from './change-types.js'
export { ClientError, type ClientErrorCode, isClientError } from './client-error.js'
export type { FilterOf, SortOf } from './query-types.js'
export type {
  Addressed,
  BatchCollection,
  BatchCollections,
  BatchResults,
  Client,
  ClientOptions,
  CollectionClient,
  ConditionOptions,
  CountOptions,
  CreateOptions,
  GetOptions,
  HandlerTarget,
  IgnoredContext,
  ListOptions,
  NamedParameters,
  OnIgnored,
  Operation,
  QueryParameters,
} from './types.js'
export { toQuery } from './write-query.js'

/** An answer of the service. Its JSON body has the form that the types of the client promise. */
interface ClientAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: the service guarantees the form of answers
  readonly body: any
  readonly headers: Headers
}

/** The parts of a request, and the function that checks its answer. */
interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  /** Aborts the request. The client also uses it if no answer begins within `SILENCE` (`following.ts`). */
  readonly connection?: AbortController
  readonly headers?: { readonly [name: string]: string | undefined }
  readonly body?: unknown
  /** Returns whether an answer's body has the expected form. Default: `isDone`. */
  readonly isRight?: ((body: ClientAnswer['body'], status: number) => boolean) | undefined
  /** Whether the request is sent without a token, so that an expired token cannot make it fail. */
  readonly isPublic?: boolean
}

const join = (path: string, query: string): string => (query ? `${path}?${query}` : path)

const isDocument = (body: ClientAnswer['body']): boolean => typeof body?._id === 'string'

/** Whether a body contains a new session. */
const isSignedIn = (body: ClientAnswer['body']): boolean => typeof body?.token === 'string'

/** Whether an answer's status says that it has no body. */
const isDone = (_: unknown, status: number): boolean => status === 202 || status === 204

/** The request for one document, in the form of a batch operation (CONTRACT.md §2, "Batch"). */
interface DocumentRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly ifMatch?: string | undefined
  readonly ifNoneMatch?: string
  readonly body?: object | undefined
  /** The signal of a call outside a batch; an operation of a batch has none. */
  readonly signal?: AbortSignal | undefined
}

/** Returns a name as one segment of a path. Throws `TypeError` for a name that would change the path, such as `..`. */
function pathOf(name: unknown, others = /^\.{0,2}$/): string {
  if (typeof name !== 'string' || others.test(name)) throw fault('a path', `cannot be ${name}`)
  return `/${encodeURIComponent(name)}`
}

/**
 * Creates the functions that build the requests for the documents of one collection. `etags` maps documents to their
 * entity tags.
 */
function createRequests(collection: string, etags: WeakMap<object, string>) {
  const path = pathOf(collection)

  // These ids are rejected: an empty one or `.` would address the whole collection, `..` another path, and `changes` an
  // endless stream.
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
function listOperations(build: Build, etags: WeakMap<object, string>): readonly DocumentRequest[] {
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

/** Reads an answer. Throws `ClientError` if it is an error, or does not have the expected form. */
async function read(response: Response, { signal, isRight = isDone }: RequestOptions): Promise<ClientAnswer> {
  const text = await response.text()
  // A handler in this process returns an answer even if the signal has aborted the request.
  signal?.throwIfAborted()
  let answered: ClientAnswer['body']
  try {
    if (text) answered = JSON.parse(text)
  } catch {}
  if (!response.ok || !isRight(answered, response.status)) throw new ClientError(response, answered)
  return { body: answered, headers: response.headers }
}

type Ask = (method: string, path: string, asked?: RequestOptions) => Promise<ClientAnswer>

/** Creates the calls of accounts. They set the token of the client when a session begins or ends. */
function createAuth(ask: Ask, client: { token: string | undefined }) {
  /** Creates a call that sends a body, and that stores the token if the answer contains a new session. */
  const account =
    (way: string, isRight?: RequestOptions['isRight'], isPublic = true) =>
    async (given: unknown, asked?: CallOptions): Promise<ClientAnswer['body']> => {
      const { body } = await ask('POST', `/auth/${way}`, { ...only(asked), isPublic, isRight, body: given })
      if (!isSignedIn(body)) return
      client.token = body.token
      return body
    }

  const about = (what: string, isRight: RequestOptions['isRight']) => async (asked?: CallOptions) =>
    (await ask('GET', `/auth/${what}`, { ...only(asked), isRight })).body

  const signOut =
    (way: string) =>
    async (asked?: CallOptions): Promise<void> => {
      await ask('POST', `/auth/${way}`, only(asked))
      client.token = undefined
    }

  return {
    register: account('register', (body, status) => status === 202 || isSignedIn(body)),
    login: account('login', isSignedIn),
    logout: signOut('logout'),
    logoutAll: signOut('logout-all'),
    changeSecret: account('change-secret', isSignedIn, false),
    requestReset: account('request-reset'),
    reset: account('reset', isSignedIn),
    requestVerification: account('request-verification'),
    verify: account('verify'),
    changeIdentifier: account('change-identifier', undefined, false),
    sessions: about('sessions', Array.isArray),
    async endSession(id: string, asked?: CallOptions) {
      await ask('DELETE', `/auth/sessions${pathOf(id)}`, only(asked))
    },
    me: about('me', isDocument),
  }
}

/**
 * Returns a document (`undefined` after a delete) and remembers its entity tag. A weak tag is made strong, because a
 * proxy that makes tags weak may reject weak tags in a request.
 */
function take(
  etags: WeakMap<object, string>,
  document: ClientAnswer['body'],
  etag?: string | null,
): ClientAnswer['body'] {
  if (document && etag) etags.set(document, etag.replace('W/', ''))
  return document
}

/** Creates the calls of one collection. */
function createCollection(
  name: string,
  etags: WeakMap<object, string>,
  reach: (method: string, path: string, asked: RequestOptions) => Promise<Response>,
  ask: Ask,
) {
  const path = pathOf(name)
  const requests = createRequests(name, etags)

  async function send(
    request: DocumentRequest,
    asked?: Pick<RequestOptions, 'signal'>,
    query = '',
  ): Promise<ClientAnswer['body']> {
    const { method, path, body, ifMatch, ifNoneMatch } = request
    const answer = await ask(method, join(path, query), {
      signal: asked?.signal,
      headers: { 'if-match': ifMatch, 'if-none-match': ifNoneMatch },
      body,
      isRight: method === 'DELETE' ? undefined : isDocument,
    })
    return take(etags, answer.body, answer.headers.get('etag'))
  }

  const list = (query: string, asked?: RequestOptions): Promise<ClientAnswer> =>
    ask('GET', join(path, query), { ...asked, isRight: Array.isArray })

  const open = async (query: string, last: string | undefined, connection: AbortController) => {
    const asked = { connection, headers: { 'last-event-id': last } }
    const response = await reach('GET', join(`${path}/changes`, query), asked)
    const isStream = /event-stream/.test(response.headers.get('content-type') ?? '')
    if (!isStream) await read(response, { isRight: () => false })
    return response
  }

  return {
    ...createFollowing(open, list),
    async list(asked: CallOptions = {}) {
      return (await list(writeQuery(asked), asked)).body
    },
    async *pages(asked: CallOptions & { readonly limit?: number } = {}) {
      // `limit` is at most 1,000, because the service returns a longer list in one piece, without a next page.
      const whole = writeQuery(asked)
      const { limit = 1000 } = asked
      if (limit > 1000) throw fault('limit', `cannot be ${limit}`)
      let others: object = { ...asked, limit }
      let answering = list(writeQuery(others), asked).catch((thrown) => {
        // The service has a lower limit. Without `limit`, the service returns pages of its own size.
        if (thrown.status !== 400) throw thrown
        others = asked
        return list(whole, asked)
      })
      for (;;) {
        const { body, headers }: ClientAnswer = await answering
        if (body[0]) yield body
        const place = placeOf(headers)
        if (!place) return
        answering = list(writeQuery({ ...others, ...place, skip: place.skip || undefined }), asked)
      }
    },
    async count(asked: CallOptions = {}) {
      const answer = await ask('GET', join(`${path}/count`, writeQuery(asked)), {
        ...asked,
        isRight: (body) => typeof body?.total === 'number',
      })
      return answer.body.total
    },
    async get(document: Addressed, asked: CallOptions = {}) {
      return send(requests.get(document), asked, writeQuery(asked))
    },
    async create(body: object, options?: CreateOptions) {
      return send(requests.create(body, options), options)
    },
    async createMany(documents: readonly object[], asked?: CallOptions) {
      const isRight = (body: ClientAnswer['body']): boolean => Array.isArray(body?.documents)
      const sent = { ...only(asked), body: { documents }, isRight }
      return (await ask('POST', `${path}/bulk`, sent)).body.documents
    },
    async update(document: Addressed, body: object, asked?: CallOptions) {
      return send(requests.update(document, body), only(asked))
    },
    async replace(document: Addressed, body: object, asked?: CallOptions) {
      return send(requests.replace(document, body), only(asked))
    },
    async delete(document: Addressed, asked?: CallOptions) {
      return send(requests.delete(document), only(asked))
    },
  }
}

/**
 * Creates a client of a service. The target is the URL of the service including its base path, or a handler in this
 * process. From a handler, the client infers the types of the collections. With a URL, they are given as
 * `createClient<typeof config>(url)`, or as the `Collections` that `collection-service types` prints.
 *
 * @example
 * ```ts
 * const client = createClient<Collections>('https://example.com/api')
 * const notes = await client.collection('notes').list({ sort: { createdAt: 'desc' }, limit: 10 })
 * ```
 */
export function createClient<C = unknown>(
  target: string | URL | HandlerTarget<C>,
  { fetch: reachOut, token, headers: fixed, onIgnored, ...others }: ClientOptions = {},
): Client<C> {
  refuseOthers(others)
  const client = { token, onIgnored }
  const etags = new WeakMap<object, string>()
  const base =
    typeof target === 'function'
      ? `http://localhost${target.basePath ?? ''}`
      : String(target).replace(/\/+$/, '')

  async function reach(method: string, path: string, asked: RequestOptions): Promise<Response> {
    const { connection, signal = connection?.signal ?? null, body } = asked
    signal?.throwIfAborted()
    const headers = new Headers(fixed)
    if (client.token && !asked.isPublic) headers.set('authorization', `Bearer ${client.token}`)
    for (const [name, value] of Object.entries(asked.headers ?? {})) if (value) headers.set(name, value)
    const init: RequestInit = { method, headers, signal }
    if (body !== undefined) {
      headers.set('content-type', 'application/json')
      init.body = writeJson('body', body)
    }
    const reached =
      typeof target === 'function'
        ? target(new Request(base + path, init))
        : (reachOut ?? fetch)(base + path, init)
    return watch(reached, () => connection?.abort())
  }

  async function ask(method: string, path: string, asked: RequestOptions = {}): Promise<ClientAnswer> {
    const answer = await read(await reach(method, path, asked), asked)
    tell(namesIn(answer.headers), { method, path })
    return answer
  }

  function tell(names: readonly string[], context: IgnoredContext): readonly string[] {
    if (names[0]) client.onIgnored?.(names, context)
    return names
  }

  async function batch(build: Build, asked?: CallOptions) {
    const operations = listOperations(build, etags)
    const isRight = (answered: ClientAnswer['body']): boolean => areResults(answered?.results, operations)
    const { body } = await ask('POST', '/_batch', { ...only(asked), body: { operations }, isRight })
    const value = operations.map(({ method, path }, operation) =>
      tell(body.results[operation]?.ignored ?? [], { method, path, operation }),
    )
    const results = operations.map((_, i) => take(etags, body.results[i]?.body, body.results[i]?.etag))
    return Object.defineProperty(results, 'ignored', { value })
  }

  // The types of the calls follow from the configuration `C`. The compiler cannot check that the calls have these
  // types.
  return Object.assign(client, {
    collection: (name: string) => createCollection(name, etags, reach, ask),
    batch,
    auth: createAuth(ask, client),
  }) as unknown as Client<C>
}

const areResults = (results: ClientAnswer['body'], operations: ReturnType<typeof listOperations>): boolean =>
  results?.length === operations.length &&
  operations.every(({ method }, i) => method === 'DELETE' || isDocument(results[i]?.body))
