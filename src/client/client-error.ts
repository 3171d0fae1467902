import type { ErrorCode, Fault } from '../core/errors.js'

// A symbol in the global registry is shared by all copies of this package (such as ESM and CommonJS), so
// `isClientError` also recognises the errors of another copy.
const CLIENT_ERROR = Symbol.for('collection-service.ClientError')

/** The error codes of the service, and `unexpected_answer`. Later releases may add codes. */
export type ClientErrorCode = ErrorCode | 'unexpected_answer' | (string & Record<never, never>)

/**
 * The error that a call throws if its answer is an error response, or does not come from the service. If no answer
 * arrives, the call throws the error from `fetch` instead.
 */
export class ClientError extends Error {
  // Without it, a minifier renames the class, and with it the error that a console shows.
  static override readonly name = 'ClientError'
  declare readonly status: number
  /**
   * The error code, which stays the same in later releases; `unexpected_answer` if the answer does not come from the
   * service.
   */
  declare readonly code: ClientErrorCode
  /** A description for people. */
  declare readonly detail: string
  /** The validation errors of a body or a query. */
  declare readonly errors: readonly Fault[]
  /** The index of the operation that caused the whole batch to be rejected. */
  declare readonly operation: number | undefined
  /** The id of the request in the log of the service. */
  declare readonly requestId: string | undefined
  /** The number of seconds to wait before a retry. */
  declare readonly retryAfter: number | undefined
  readonly [CLIENT_ERROR] = true

  /** `problem` is the parsed body of the answer, which may have any form. */
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
 * Whether a thrown value is a `ClientError`, including one from another copy of this package. Never throws.
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
