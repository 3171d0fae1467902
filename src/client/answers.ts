/** An answer of the service. Its JSON body has the form that the types of the client promise. */
export interface ClientAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: the service guarantees the form of answers
  readonly body: any
  readonly headers: Headers
}

/** The parts of a request, and the function that checks its answer. */
export interface RequestOptions {
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

export const join = (path: string, query: string): string => (query ? `${path}?${query}` : path)

/**
 * The position of the next page: its cursor, its `skip`, or both (`skip` is 0 if there is only a cursor). `undefined`
 * after the last page.
 */
export const placeOf = (headers: Headers) => {
  const after = headers.get('next-cursor') ?? undefined
  const skip = Number(headers.get('next-skip'))
  return after || skip ? { after, skip } : undefined
}

export const isDocument = (body: ClientAnswer['body']): boolean => typeof body?._id === 'string'

/** Whether a body contains a new session. */
export const isSignedIn = (body: ClientAnswer['body']): boolean => typeof body?.token === 'string'

/** Whether an answer's status says that it has no body. */
export const isDone = (_: unknown, status: number): boolean => status === 202 || status === 204

/** The names in the header `Ignored-Properties` of an answer (CONTRACT.md §6, "Headers"). */
export const namesIn = (headers: Headers): readonly string[] =>
  headers.get('ignored-properties')?.match(/\w+/g) ?? []
