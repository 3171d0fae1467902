import { namesIn } from './answers.js'
import { ClientError } from './client-error.js'
import type { ClientOptions, HandlerTarget, IgnoredContext } from './types.js'
import { watch } from './waiting.js'
import { refuseOthers, writeJson } from './write-query.js'

/** An answer of the service. Its JSON body has the form that the types of the client promise. */
export interface ClientAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: the service guarantees the form of answers
  readonly body: any
  readonly headers: Headers
}

/** The parts of a request, and the function that checks its answer. */
export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  /** Aborts the request. The client also uses it if no answer begins within `SILENCE` (`waiting.ts`). */
  readonly connection?: AbortController
  readonly headers?: { readonly [name: string]: string | undefined }
  readonly body?: unknown
  /** Returns whether an answer's body has the expected form. Default: `isDone`. */
  readonly isRight?: ((body: ClientAnswer['body'], status: number) => boolean) | undefined
  /** Whether the request is sent without a token, so that an expired token cannot make it fail. */
  readonly isPublic?: boolean
}

export const join = (path: string, query: string): string => (query ? `${path}?${query}` : path)

export const isDocument = (body: ClientAnswer['body']): boolean => typeof body?._id === 'string'

/** Whether an answer's status says that it has no body. */
const isDone = (_: unknown, status: number): boolean => status === 202 || status === 204

/** Reads an answer. Throws `ClientError` if it is an error, or does not have the expected form. */
export async function read(
  response: Response,
  { signal, isRight = isDone }: RequestOptions,
): Promise<ClientAnswer> {
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

/** Creates the functions that all calls of a client share. They keep its token and the entity tags of documents. */
export function createTransport(
  target: string | URL | HandlerTarget<unknown>,
  { fetch: reachOut, token, cookie, headers: fixed, onIgnored, ...others }: ClientOptions = {},
) {
  refuseOthers(others)
  const state = { token, onIgnored }
  const base =
    typeof target === 'function'
      ? `http://localhost${target.basePath ?? ''}`
      : String(target).replace(/\/+$/, '')

  async function reach(method: string, path: string, asked: RequestOptions): Promise<Response> {
    const { connection, signal = connection?.signal ?? null, body } = asked
    signal?.throwIfAborted()
    const headers = new Headers(fixed)
    if (state.token && !asked.isPublic) headers.set('authorization', `Bearer ${state.token}`)
    for (const [name, value] of Object.entries(asked.headers ?? {})) if (value) headers.set(name, value)
    const init: RequestInit = { method, headers, signal }
    if (cookie) {
      headers.append('prefer', 'session=cookie')
      init.credentials = 'include'
    }
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
    if (names[0]) state.onIgnored?.(names, context)
    return names
  }

  const etags = new WeakMap<object, string>()

  /**
   * Returns a document (`undefined` after a delete) and remembers its entity tag. A weak tag is made strong, because a
   * proxy that makes tags weak may reject weak tags in a request.
   */
  function take(document: ClientAnswer['body'], etag?: string | null): ClientAnswer['body'] {
    if (document && etag) etags.set(document, etag.replace('W/', ''))
    return document
  }

  return { state, reach, ask, tell, take, stateOf: (document: unknown) => etags.get(Object(document)) }
}

/** The functions of a client that send requests and read the answers. */
export type Transport = ReturnType<typeof createTransport>
