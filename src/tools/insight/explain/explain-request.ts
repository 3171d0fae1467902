import { formatTimestamp, parseTimestamp } from '../../../core/fields/timestamp.js'
import { checkCaller } from '../../../core/http/identify.js'
import { isPlainObject } from '../../../core/json/own-properties.js'
import { ANY, type Expectation, judgeOptions, requireOptions, TEXT } from '../../../core/options.js'
import { comparePermissions } from '../diff/compare-permissions.js'
import { INSIGHT_OPTIONS, type InsightOptions } from '../options.js'
import type { ExplainedRequest, Explanation } from './explanation.js'
import { findMissing } from './find-missing.js'
import { judgeOperations, listSubjects } from './judge-operations.js'
import { runRequest } from './run-request.js'
import { type CompareConfigs, suggestGrant } from './suggest/suggest-grant.js'

/**
 * Explains why a request gets its response (CONTRACT.md §8, "Explain"). Sends the request to an in-memory service with
 * this configuration, and records the decisions of the service. So the response is always that of the handler. If a
 * right is missing, suggests the first grant that would have let the request succeed.
 *
 * @param config the configuration, as pure JSON
 * @param request the caller and the request. `documents` are stored before the request is sent; `path` begins after the
 * base path.
 * @throws `ConfigError` for an invalid configuration, `ServiceError` for documents that cannot be stored, `TypeError`
 * for a request that cannot be sent or is below `/auth`, where requests are not explained
 *
 * @example
 * ```ts
 * const { answer, missing, suggestion } = await explainRequest(config, {
 *   caller: { id: 'ann', roles: ['editor'] },
 *   method: 'PATCH',
 *   path: '/articles/01890163-8694-7000-8000-000000000001',
 *   body: { title: 'New' },
 *   documents: { articles: [{ _id: '01890163-8694-7000-8000-000000000001', title: 'Old' }] },
 * })
 * ```
 */
export const explainRequest = (
  config: unknown,
  request: ExplainedRequest,
  options: InsightOptions = {},
): Promise<Explanation> => explainWith(config, request, options, comparePermissions)

/** Explains a request as `explainRequest` does. If `compare` is `null`, there is no suggestion. */
export async function explainWith(
  config: unknown,
  request: ExplainedRequest,
  options: InsightOptions,
  compare: CompareConfigs | null,
): Promise<Explanation> {
  requireOptions(options, INSIGHT_OPTIONS)
  checkMembers(request)
  const { caller, method, path } = request
  checkPath(path)
  const run = await runRequest(config, { ...request, now: readTime(request.now) }, options)
  const missing = findMissing(run)
  return {
    request: { method, path, caller },
    subjects: listSubjects(caller),
    answer: run.answer,
    ...judgeOperations(run),
    missing: missing && {
      operation: missing.operation,
      collection: missing.collection,
      document: missing.document,
    },
    suggestion: missing && compare && (await suggestGrant({ run, missing, options, compare })),
  }
}

const DOCUMENTS: Expectation = [isPlainObject, 'a plain object of documents by collection']

const MEMBERS = {
  caller: ANY,
  method: TEXT,
  path: TEXT,
  body: ANY,
  headers: ANY,
  documents: DOCUMENTS,
  now: ANY,
}

function checkMembers(request: ExplainedRequest): void {
  const [fault] = judgeOptions(request, MEMBERS)
  if (fault) throw new TypeError(`${fault.path || 'a request'} ${fault.message}`)
  for (const name of ['method', 'path'] as const)
    if (request[name] === undefined) throw new TypeError(`${name} is missing`)
  checkCaller(request.caller)
}

function checkPath(path: string): void {
  if (!path.startsWith('/'))
    throw new TypeError(`path must begin with a slash, found ${JSON.stringify(path)}`)
  if (path.includes('#'))
    throw new TypeError('path must not contain a fragment (#), because it would not be sent')
  const [, first] = /^\/+([^/?#]*)/.exec(path) ?? []
  if (first === 'auth')
    throw new TypeError(
      'requests below /auth cannot be explained, because passwords and tokens decide them, not rules',
    )
}

function readTime(now: ExplainedRequest['now'] = Date.now()): number {
  const text = typeof now === 'string' ? parseTimestamp(now) : undefined
  const time = text === undefined ? now : Date.parse(text)
  if (typeof time === 'number' && formatTimestamp(time) !== undefined) return time
  throw new TypeError('now must be milliseconds since 1970 or a timestamp, in the years 0001 to 9999')
}
