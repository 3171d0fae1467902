import type { ErrorCode, Fault } from '../errors.js'

// A registered symbol: an error of another copy of this package (ESM beside CommonJS) is recognised too.
const CLIENT_ERROR = Symbol.for('collection-service.ClientError')

/** The service's own codes, and that of an answer which is not the service's; later releases may know more. */
export type ClientErrorCode = ErrorCode | 'unexpected_answer' | (string & Record<never, never>)

/** An answer that is no result. What keeps an answer from arriving is thrown as `fetch` throws it. */
export class ClientError extends Error {
  readonly status: number
  /** Stable; `unexpected_answer` for one that is not the service's. */
  readonly code: ClientErrorCode
  /** For people. */
  readonly detail: string
  /** What can be pointed at in a body or a query. */
  readonly errors: readonly Fault[]
  /** Under which the service's log knows more. */
  readonly requestId: string | undefined
  /** Seconds after which another attempt makes sense. */
  readonly retryAfter: number | undefined
  readonly [CLIENT_ERROR] = true

  /** `problem` is the answer's body, whatever it is. */
  constructor(response: Response, problem: unknown) {
    const { code, detail, errors, requestId } = (
      typeof problem === 'object' && problem !== null ? problem : {}
    ) as { readonly [name: string]: unknown }
    const isOurs = !response.ok && typeof code === 'string'
    const text = isOurs
      ? String(detail)
      : `The answer (${response.status}) is not one of a collection service.`
    super(text)
    this.name = 'ClientError'
    this.status = response.status
    this.code = isOurs ? code : 'unexpected_answer'
    this.detail = text
    this.errors = Array.isArray(errors) ? errors : []
    this.requestId = typeof requestId === 'string' ? requestId : undefined
    this.retryAfter = Number.parseInt(response.headers.get('retry-after') ?? '', 10) || undefined
  }
}

/** True for a `ClientError` of any copy of this package; never throws, whatever was thrown. */
export function isClientError(thrown: unknown): thrown is ClientError {
  try {
    return (thrown as Partial<ClientError>)[CLIENT_ERROR] === true
  } catch {
    return false
  }
}
