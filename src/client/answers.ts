/** An answer; the service ensures that its JSON body has the form that the types promise. */
export interface ClientAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: what an answer holds is the service's promise
  readonly body: any
  readonly headers: Headers
}

/** What a request sends, and what its answer must be. */
export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  /** Ends with the request, which is given up where no answer begins for as long as a stream may be silent. */
  readonly connection?: AbortController
  readonly headers?: { readonly [name: string]: string | undefined }
  readonly body?: unknown
  /** Whether a body has the expected form. Default: `isDone`. */
  readonly isRight?: ((body: ClientAnswer['body'], status: number) => boolean) | undefined
  /** Whether it asks without a token: a stale one must not prevent it. */
  readonly isPublic?: boolean
}

/** A path with its query. */
export const join = (path: string, query: string): string => (query ? `${path}?${query}` : path)

/** The place of the next page, with a `skip` of 0 beside a cursor; `undefined` where no more documents follow. */
export const placeOf = (headers: Headers) => {
  const after = headers.get('next-cursor') ?? undefined
  const skip = Number(headers.get('next-skip'))
  return after || skip ? { after, skip } : undefined
}

/** Whether a body is a document. */
export const isDocument = (body: ClientAnswer['body']): boolean => typeof body?._id === 'string'

/** Whether a body has a new session. */
export const isSignedIn = (body: ClientAnswer['body']): boolean => typeof body?.token === 'string'

/** What was taken, or is done, has nothing to say. */
export const isDone = (_: unknown, status: number): boolean => status === 202 || status === 204

/** The names that an answer's `Ignored-Properties` lists (CONTRACT.md §6, "Headers"). */
export const namesIn = (headers: Headers): readonly string[] =>
  headers.get('ignored-properties')?.match(/\w+/g) ?? []
