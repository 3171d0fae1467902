import { signal } from '@preact/signals'
import { createAuth } from '../../../../client/auth.js'
import { type Client, ClientError, type CollectionClient } from '../../../../client/client.js'
import { createDocuments } from '../../../../client/documents.js'
import { createChanges } from '../../../../client/following.js'
import { createLists } from '../../../../client/lists.js'
import { createTransport } from '../../../../client/transport.js'
import type { LooseCollection } from '../../../../infer/collections.js'
import { type ListQuery, writeFilter } from '../model/list-query.js'
import type { Sent } from '../model/requests/request-lines.js'
import { note } from './requests.js'
import { epoch, loseSession, lost, token } from './session.js'

/**
 * The channel to the other tabs of the admin UI. A message says only that something has changed; each tab then reloads
 * with its own session. So other scripts of this origin learn nothing from the messages, and no tab uses the session of
 * another.
 */
const others = new BroadcastChannel(`collection-service:${location.pathname.replace(/\/$/, '')}`)

others.onmessage = () => {
  // A tab whose session has expired does not reload, because its input would be lost. It reloads after the next
  // sign-in.
  if (!lost.peek()) epoch.value++
}

/** Tells the other tabs that something has changed. */
const tellOthers = (): void => others.postMessage(null)

/** The base path of the service. */
export const prefix = location.pathname.replace(/\/_page\/?$/, '')

/** The URL of the service, including its base path. */
export const base = location.origin + prefix

/** The countdown to the retry of a request, as it is shown. */
export interface RetryCountdown {
  readonly why: string
  /** The seconds until the retry. */
  readonly seconds: number
  tryNow(): void
  giveUp(): void
}

export const waiting = signal<RetryCountdown | undefined>(undefined)

/** The longest pause before an automatic retry. If the service asks for a longer pause, the person must retry. */
const MOST_SECONDS = 60

/** Options for sending and logging a request. */
export interface AskOptions {
  readonly signal?: AbortSignal | undefined
  readonly headers?: { readonly [name: string]: string }
  /** The reason for a background request, which the log shows. */
  readonly note?: string
  /** Whether the request may fail silently: without a retry and without a message. */
  readonly isQuiet?: boolean
}

/** Creates a `fetch` that logs every request, and retries it if the service or the network is unavailable. */
function createSend(way: AskOptions, hear: (response: Response) => void): typeof fetch {
  return async (input, init = {}) => {
    const url = new URL(String(input))
    const headers = new Headers(init.headers)
    const [, used] = (headers.get('authorization') ?? '').split(' ')
    const path = url.pathname.slice(prefix.length)
    const sent: Sent = {
      method: init.method ?? 'GET',
      path,
      query: url.search.slice(1),
      body: typeof init.body === 'string' ? JSON.parse(init.body) : undefined,
      ifMatch: headers.get('if-match') ?? undefined,
      ifNoneMatch: headers.get('if-none-match') ?? undefined,
      isSignedIn: used !== undefined,
    }
    const isLasting = path.endsWith('/changes') || way.isQuiet === true
    for (let attempt = 1; ; attempt++) {
      const finish = note(sent, way.note, way.isQuiet)
      let response: Response | undefined
      let failure: unknown
      try {
        // Each tab has a session of its own: it neither uses nor sets the cookie that pages of this origin share.
        headers.set('prefer', 'session=token')
        response = await fetch(input, { ...init, headers, cache: 'no-store', redirect: 'error' })
      } catch (thrown) {
        failure = thrown
      }
      finish(response?.status ?? 0)
      // Only this header says that the token is invalid: a 401 may also be about a secret in the body.
      if (/error="invalid_token"/.test(response?.headers.get('www-authenticate') ?? '')) loseSession(used)
      if (response?.ok && sent.method !== 'GET') tellOthers()
      const pause = isLasting ? undefined : findPause(sent, response, attempt)
      if (pause !== undefined && init.signal?.aborted !== true) {
        const why = response ? 'The service is busy.' : 'The service cannot be reached.'
        if (await wait(why, pause, init.signal ?? undefined)) continue
      }
      if (!response) throw failure
      hear(response)
      return response
    }
  }
}

/** Returns the seconds until a retry; `undefined` for no retry. A write that may have taken effect is not retried. */
function findPause(sent: Sent, response: Response | undefined, attempt: number): number | undefined {
  if (!response) return sent.method === 'GET' ? Math.min(2 ** attempt, 30) : undefined
  if (response.status !== 503 && response.status !== 429) return undefined
  const seconds = Number(response.headers.get('retry-after') || Number.NaN)
  return seconds <= MOST_SECONDS ? Math.max(seconds, 1) : undefined
}

/** Shows a countdown and waits for its end. Resolves to `false` if the person stops it. */
function wait(why: string, seconds: number, signal: AbortSignal | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (again: boolean): void => {
      clearInterval(timer)
      signal?.removeEventListener('abort', stop)
      waiting.value = undefined
      resolve(again)
    }
    const stop = (): void => end(false)
    const tell = (left: number): void => {
      waiting.value = { why, seconds: left, tryNow: () => end(true), giveUp: stop }
    }
    let left = seconds
    tell(left)
    const timer = setInterval(() => {
      left--
      if (left <= 0) end(true)
      else tell(left)
    }, 1000)
    signal?.addEventListener('abort', stop)
  })
}

/** The result of a call of the typed client, and the headers of the answer. */
export interface ServiceAnswer<T> {
  readonly value: T
  readonly headers: Headers
}

/** The calls of the typed client that the admin UI uses. Its bundle has no others. */
export interface PageClient extends Pick<Client, 'auth'> {
  collection(name: string): PageCollection
}

export type PageCollection = Pick<
  CollectionClient<unknown, LooseCollection>,
  | keyof ReturnType<typeof createDocuments>
  | keyof ReturnType<typeof createLists>
  | keyof ReturnType<typeof createChanges>
>

/** Creates a client with the session of this tab. `hear` is called with each response. */
export function createPageClient(
  way: AskOptions = {},
  hear: (response: Response) => void = () => {},
): PageClient {
  const transport = createTransport(base, {
    ...(way.headers ? { headers: way.headers } : {}),
    fetch: createSend(way, hear),
    token: token.peek(),
  })
  return {
    auth: createAuth(transport),
    collection: (name) => ({
      ...createDocuments(name, transport),
      ...createLists(name, transport),
      ...createChanges(name, transport),
    }),
  } as PageClient
}

/** Calls the service with the typed client. Throws `ClientError`, or the error from `fetch`. */
export async function ask<T>(
  call: (client: PageClient) => Promise<T>,
  way: AskOptions = {},
): Promise<ServiceAnswer<T>> {
  let headers = new Headers()
  const client = createPageClient(way, (response) => {
    headers = response.headers
  })
  const value = await call(client)
  return { value, headers }
}

/** The options of a request for which the typed client has no call, or only a call that returns part of the answer. */
export interface Plain extends AskOptions {
  readonly query?: string
  /** The body of a POST. Without it, the request is a GET. */
  readonly body?: unknown
}

/** Sends a request and returns the response. Throws `ClientError`. */
export async function open(path: string, { query, body, ...way }: Plain = {}): Promise<Response> {
  const headers = new Headers()
  const used = token.peek()
  if (used !== undefined) headers.set('authorization', `Bearer ${used}`)
  const init: RequestInit = { headers, signal: way.signal ?? null }
  if (body !== undefined) {
    headers.set('content-type', 'application/json')
    Object.assign(init, { method: 'POST', body: JSON.stringify(body) })
  }
  const send = createSend(way, () => {})
  const response = await send(base + path + (query ? `?${query}` : ''), init)
  if (!response.ok) throw new ClientError(response, await response.json().catch(() => undefined))
  return response
}

/** Sends a request and reads the answer as JSON. */
export async function read(path: string, plain?: Plain): Promise<ServiceAnswer<unknown>> {
  const response = await open(path, plain)
  return { value: await response.json(), headers: response.headers }
}

/** Returns the number of documents that match the filter of a query. */
export async function countAll(collection: string, query: ListQuery, way: AskOptions): Promise<number> {
  const { value } = await read(`/${collection}/count`, { ...way, query: writeFilter(query) })
  return (value as { readonly total: number }).total
}
