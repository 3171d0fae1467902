/** An answer; the service ensures that its JSON body has the form that the types promise. */
export interface ClientAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: the service guarantees the form of answers
  readonly body: any
  readonly headers: Headers
}

/** The parts of a request, and the check of its answer. */
export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  /** Ends with the request, which is aborted if no answer begins within the longest silence of a stream. */
  readonly connection?: AbortController
  readonly headers?: { readonly [name: string]: string | undefined }
  readonly body?: unknown
  /** Whether a body has the expected form. Default: `isDone`. */
  readonly isRight?: ((body: ClientAnswer['body'], status: number) => boolean) | undefined
  /** Whether the request is sent without a token: an expired one must not prevent it. */
  readonly isPublic?: boolean
}

/** A path with its query. */
export const join = (path: string, query: string): string => (query ? `${path}?${query}` : path)

/** The position of the next page, with a `skip` of 0 beside a cursor; `undefined` after the last one. */
export const placeOf = (headers: Headers) => {
  const after = headers.get('next-cursor') ?? undefined
  const skip = Number(headers.get('next-skip'))
  return after || skip ? { after, skip } : undefined
}

/** Whether a body is a document. */
export const isDocument = (body: ClientAnswer['body']): boolean => typeof body?._id === 'string'

/** Whether a body has a new session. */
export const isSignedIn = (body: ClientAnswer['body']): boolean => typeof body?.token === 'string'

/** Whether an answer needs no body. */
export const isDone = (_: unknown, status: number): boolean => status === 202 || status === 204

/** The names that an answer's `Ignored-Properties` lists (CONTRACT.md §6, "Headers"). */
export const namesIn = (headers: Headers): readonly string[] =>
  headers.get('ignored-properties')?.match(/\w+/g) ?? []
