import { type ErrorCode, REFUSAL_STATUSES } from '../../core/errors.js'
import { statusOf } from '../../core/http/problem.js'
import type { JsonSchema } from '../../core/json/json-schema.js'
import { type HeaderName, referToHeader } from './headers.js'
import type { DescriptionScope } from './scope.js'

/** Error codes that every request can return. */
export const ALWAYS: readonly ErrorCode[] = [
  'invalid_query',
  'query_too_long',
  'internal_error',
  'overloaded',
  'storage_unavailable',
]

/** Error codes of requests with a body. */
export const WITH_BODY: readonly ErrorCode[] = [
  'invalid_json',
  'validation_failed',
  'unsupported_media_type',
  'body_too_large',
  'request_timeout',
]

/** Error codes that any write can return. */
export const OF_ALL_WRITES: readonly ErrorCode[] = [
  'not_found',
  'forbidden',
  'precondition_failed',
  'unique_violation',
  'reference_in_use',
  'cascade_too_large',
  'document_too_large',
  'outcome_unknown',
  'refused',
]

/** Describes the error responses of an operation, by status. One response lists all codes of its status. */
export function describeProblems(
  scope: DescriptionScope,
  codes: readonly ErrorCode[],
): { readonly [status: string]: JsonSchema } {
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of new Set(codes)) {
    if (code === 'refused' && !scope.service.hasHooks) continue
    for (const status of code === 'refused' ? REFUSAL_STATUSES : [statusOf(code)[0]])
      byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  return Object.fromEntries(
    [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, ofStatus]) => [String(status), referToProblem(scope, status, ofStatus.sort())]),
  )
}

const referToProblem = (scope: DescriptionScope, status: number, codes: readonly ErrorCode[]): JsonSchema =>
  scope.components.refer('responses', `${status}.${codes.join('.')}`, () => {
    const titles = new Set(codes.map((code) => statusOf(code)[1]))
    const headers = HEADERS_OF[status] ?? []
    return {
      description: `${[...titles].join(', or: ')}.`,
      ...(headers.length > 0
        ? { headers: Object.fromEntries(headers.map((name) => [name, referToHeader(scope, name)])) }
        : {}),
      content: {
        'application/problem+json': {
          schema: {
            allOf: [
              scope.components.refer('schemas', 'service.problem', () => PROBLEM),
              {
                type: 'object',
                properties: { status: { type: 'integer', const: status }, code: { ...TEXT, enum: codes } },
              },
            ],
          },
        },
      },
    }
  })

const HEADERS_OF: { readonly [status: number]: readonly HeaderName[] } = {
  401: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}

const TEXT: JsonSchema = { type: 'string' }

/** The schema of an error response (RFC 9457, CONTRACT.md §6). */
const PROBLEM: JsonSchema = {
  type: 'object',
  properties: {
    title: TEXT,
    status: { type: 'integer' },
    code: { ...TEXT, description: 'A stable code. The texts of an error may change.' },
    detail: TEXT,
    requestId: TEXT,
    operation: { type: 'integer', description: 'In a batch, the index of the operation that was rejected.' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          path: { ...TEXT, description: 'A JSON pointer to a part of the body, or the name of a parameter.' },
          code: TEXT,
          message: TEXT,
        },
        required: ['path', 'code', 'message'],
      },
    },
  },
  required: ['title', 'status', 'code', 'detail', 'requestId'],
}
