/**
 * One validation error of a request: its position, its code, and what would be valid. It never repeats a value of the
 * request.
 */
export interface Fault {
  /** A JSON pointer into the body, or the name of a query parameter. */
  readonly path: string
  /** Stable, lower_snake. */
  readonly code: string
  /** Human-readable; may change between releases. */
  readonly message: string
}

/** The codes of errors. They are stable. Only the HTTP layer maps them to status codes. */
export type ErrorCode =
  | 'invalid_json'
  | 'invalid_query'
  | 'validation_failed'
  | 'invalid_delivered_token'
  | 'unauthenticated'
  | 'invalid_token'
  | 'invalid_credentials'
  | 'forbidden'
  | 'cross_site'
  | 'not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'body_too_large'
  | 'document_too_large'
  | 'query_too_long'
  | 'unsupported_media_type'
  | 'unique_violation'
  | 'internal_error'
  | 'overloaded'
  | 'storage_unavailable'
  | 'outcome_unknown'
  | 'too_many_attempts'
  | 'precondition_failed'
  | 'reference_in_use'
  | 'cascade_too_large'
  | 'refused'

/** The statuses with which a hook can reject a write. */
export const REFUSAL_STATUSES = [400, 403, 409, 422] as const

export type RefusalStatus = (typeof REFUSAL_STATUSES)[number]

// A registered symbol, so that `isServiceError` also recognizes an error of another copy of this package (ESM and
// CommonJS in one process).
const SERVICE_ERROR = Symbol.for('collection-service.ServiceError')

/** The error of a failed operation. `cause` is logged and never leaves the process. */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly errors: readonly Fault[]
  /** Seconds after which a retry makes sense. */
  readonly retryAfter: number | undefined
  /** The index of the rejected operation in a batch. */
  readonly operation: number | undefined
  /** The status with which a hook rejected a write. Set only if the code is `refused`. */
  readonly status: RefusalStatus | undefined
  readonly [SERVICE_ERROR] = true

  constructor(
    code: ErrorCode,
    detail: string,
    options: {
      errors?: readonly Fault[]
      cause?: unknown
      retryAfter?: number
      operation?: number
      status?: RefusalStatus
    } = {},
  ) {
    super(detail, options.cause === undefined ? {} : { cause: options.cause })
    this.name = 'ServiceError'
    this.code = code
    this.errors = options.errors ?? []
    this.retryAfter = options.retryAfter
    this.operation = options.operation
    this.status = options.status
  }
}

/**
 * Whether a value is a `ServiceError`, from any copy of this package. Never throws.
 *
 * @example
 * ```ts
 * try {
 *   await adapter.write(steps, {})
 * } catch (thrown) {
 *   if (!isServiceError(thrown) || thrown.code !== 'storage_unavailable') throw thrown
 * }
 * ```
 */
export function isServiceError(thrown: unknown): thrown is ServiceError {
  try {
    const { [SERVICE_ERROR]: brand, code, message, errors } = thrown as Partial<ServiceError>
    return brand === true && typeof code === 'string' && typeof message === 'string' && Array.isArray(errors)
  } catch {
    return false
  }
}

/** One error of a configuration. `path` is a JSON pointer into it. */
export interface ConfigFault {
  readonly path: string
  readonly message: string
}

/**
 * The error of an invalid configuration, or of one that cannot take effect: `faults` holds all its errors, `message` lists
 * them.
 */
export class ConfigError extends Error {
  readonly code = 'invalid_config'
  readonly faults: readonly ConfigFault[]

  /** @param what a sentence that the list follows, without its colon. Default: that the configuration has these errors */
  constructor(
    faults: readonly ConfigFault[],
    what = `The configuration has ${faults.length === 1 ? 'an error' : `${faults.length} errors`}`,
  ) {
    const list = faults.map(({ path, message }) => `  ${path || '/'}: ${message}`)
    super(`${what}:\n${list.join('\n')}`)
    this.name = 'ConfigError'
    this.faults = faults
  }
}
