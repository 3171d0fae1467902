import { type ErrorCode, ServiceError } from '../errors.js'
import type { Answer } from './answer.js'

const STATUS: { readonly [code in ErrorCode]: readonly [status: number, title: string] } = {
  invalid_json: [400, 'The body is not valid JSON'],
  invalid_query: [400, 'The query is not valid'],
  validation_failed: [400, 'The document is not valid'],
  invalid_delivered_token: [400, 'The delivered token is not valid'],
  unauthenticated: [401, 'Not signed in'],
  invalid_token: [401, 'The token is not valid'],
  invalid_credentials: [401, 'The credentials are not valid'],
  forbidden: [403, 'Not allowed'],
  cross_site: [403, 'The request comes from another site'],
  not_found: [404, 'Not found'],
  method_not_allowed: [405, 'The method is not allowed here'],
  request_timeout: [408, 'The request took too long to arrive'],
  unique_violation: [409, 'The value is taken'],
  reference_in_use: [409, 'Other documents refer to the document'],
  cascade_too_large: [409, 'Too many documents refer to the document'],
  refused: [409, 'The application rejected the write'],
  precondition_failed: [412, 'The document is not as expected'],
  body_too_large: [413, 'The body is too large'],
  document_too_large: [413, 'The document is too large'],
  query_too_long: [414, 'The query string is too long'],
  unsupported_media_type: [415, 'The media type is not supported'],
  too_many_attempts: [429, 'Too many attempts'],
  internal_error: [500, 'Something went wrong'],
  overloaded: [503, 'Too busy'],
  storage_unavailable: [503, 'The storage cannot be reached'],
  outcome_unknown: [503, 'The outcome of the write is unknown'],
}

/** Returns the status and the title of error responses with a code. */
export const statusOf = (code: ErrorCode): readonly [status: number, title: string] => STATUS[code]

/** The default number of seconds after which a client should retry. */
const RETRY_AFTER = 1

/** Returns the headers of an error response, which depend on its code. */
function headersOf({ code, retryAfter = RETRY_AFTER }: ServiceError): { readonly [name: string]: string } {
  switch (code) {
    case 'unauthenticated':
    case 'invalid_credentials':
      return { 'www-authenticate': 'Bearer' }
    case 'invalid_token':
      return { 'www-authenticate': 'Bearer error="invalid_token"' }
    case 'overloaded':
    case 'storage_unavailable':
    case 'too_many_attempts':
      return { 'retry-after': String(retryAfter) }
    default:
      return {}
  }
}

/** The details that replace the message of a storage's own error, which may reveal more than a client should know. */
const STORAGE_DETAILS: { readonly [code: string]: string } = {
  storage_unavailable: 'The storage does not answer.',
  outcome_unknown: 'The storage did not confirm the write. It may have taken effect.',
}

/** Whether a client may see an error. Excluded are `internal_error` and codes that this release does not know. */
export const isAnswerable = ({ code }: ServiceError): boolean =>
  code !== 'internal_error' && Object.hasOwn(STATUS, code)

/** Returns an error as a response of type `application/problem+json` (RFC 9457, CONTRACT.md §6). */
export function toProblem(error: ServiceError, requestId: string): Answer {
  const { code, errors, operation } = error
  const [usual, title] = statusOf(code)
  const status = error.status ?? usual
  const detail = STORAGE_DETAILS[code] ?? error.message
  const problem = {
    title,
    status,
    code,
    detail,
    requestId,
    ...(operation === undefined ? {} : { operation }),
    ...(errors.length > 0 ? { errors } : {}),
  }
  return {
    status,
    headers: { 'content-type': 'application/problem+json', ...headersOf(error) },
    body: JSON.stringify(problem),
  }
}

/** Creates the error that a client gets instead of an unexpected error. It reveals nothing about the cause. */
export const internalError = (): ServiceError =>
  new ServiceError('internal_error', 'The cause is in the log of the service, under this requestId.')

/** Returns the response to a caller of the handler that passed no valid request. `common` are its common headers. */
export function internalProblem(requestId: string, common: Answer['headers']): Answer {
  const { headers, ...problem } = toProblem(internalError(), requestId)
  return { ...problem, headers: { ...common, ...headers } }
}
