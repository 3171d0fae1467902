import type { ErrorCode, Fault } from '../core/errors.js'

// A registered symbol also recognises an error of another copy of this package (ESM beside CommonJS).
const CLIENT_ERROR = Symbol.for('collection-service.ClientError')

/** The service's own codes, and `unexpected_answer`; later releases may have more. */
export type ClientErrorCode = ErrorCode | 'unexpected_answer' | (string & Record<never, never>)

/**
 * The error for an answer without a result. If no answer arrives, the error of `fetch` is thrown instead.
 */
export class ClientError extends Error {
  declare readonly status: number
  /** Stable; `unexpected_answer` if the answer does not come from the service. */
  declare readonly code: ClientErrorCode
  /** A description for people. */
  declare readonly detail: string
  /** The validation errors of a body or a query. */
  declare readonly errors: readonly Fault[]
  /** The index of the operation because of which the whole batch was rejected. */
  declare readonly operation: number | undefined
  /** The id under which the service has logged the request. */
  declare readonly requestId: string | undefined
  /** Seconds after which to retry. */
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
 * True for a `ClientError` of any copy of this package. Never throws, for any value.
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
