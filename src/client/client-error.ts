import type { ErrorCode, Fault } from '../errors.js'

// A registered symbol also recognises an error of another copy of this package (ESM beside CommonJS).
const CLIENT_ERROR = Symbol.for('collection-service.ClientError')

/** The service's own codes, and that of an answer from elsewhere; later releases may have more. */
export type ClientErrorCode = ErrorCode | 'unexpected_answer' | (string & Record<never, never>)

/**
 * The error of an answer without a result. Where no answer arrives, the error of `fetch` is thrown instead.
 */
export class ClientError extends Error {
  declare readonly status: number
  /** Stable; `unexpected_answer` for an answer that is not the service's. */
  declare readonly code: ClientErrorCode
  /** A description for people. */
  declare readonly detail: string
  /** The faults of a body or a query. */
  declare readonly errors: readonly Fault[]
  /** The index of the operation that was refused, and with it the whole batch. */
  declare readonly operation: number | undefined
  /** The id under which the service's log has more. */
  declare readonly requestId: string | undefined
  /** Seconds after which another attempt makes sense. */
  declare readonly retryAfter: number | undefined
  readonly [CLIENT_ERROR] = true

  /** `problem` is the body of the answer, of any form. */
  constructor(response: Response, problem: unknown) {
    const { code, detail, errors, operation, requestId }: { readonly [name: string]: unknown } =
      Object(problem)
    const isOurs = !response.ok && typeof code === 'string'
    const text = isOurs ? String(detail) : `unexpected_answer ${response.status}`
    super(text)
    this.name = 'ClientError'
    this.status = response.status
    this.code = isOurs ? code : 'unexpected_answer'
    this.detail = text
    this.errors = Array.isArray(errors) ? errors : []
    this.operation = typeof operation === 'number' ? operation : undefined
    this.requestId = typeof requestId === 'string' ? requestId : undefined
    this.retryAfter = Number(response.headers.get('retry-after')) || undefined
  }
}

/**
 * True for a `ClientError` of any copy of this package; never throws, whatever was thrown.
 *
 * @example
 * ```ts
 * try {
 *   await client.collection('notes').get(id)
 * } catch (thrown) {
 *   if (!isClientError(thrown) || thrown.code !== 'not_found') throw thrown
 * }
 * ```
 */
export function isClientError(thrown: unknown): thrown is ClientError {
  try {
    return (thrown as Partial<ClientError>)[CLIENT_ERROR] === true
  } catch {
    return false
  }
}
