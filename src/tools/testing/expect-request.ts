import { isObject } from '../../core/json/own-properties.js'
import { ANY, type Expectation, judgeOptions, requireOptions } from '../../core/options.js'
import type { Caller } from '../../core/types.js'
import { explainRequest, explainWith } from '../insight/explain/explain-request.js'
import type { ExplainedRequest, Explanation } from '../insight/explain/explanation.js'
import { printExplanation } from '../insight/explain/print/print-explanation.js'
import type { InsightOptions } from '../insight/options.js'

/** The body and headers of a request, the stored documents, the current time, and the options of the service. */
export interface ExpectOptions
  extends InsightOptions,
    Pick<ExplainedRequest, 'body' | 'headers' | 'documents' | 'now'> {
  /** The properties of the body that the service may drop. Default: none. */
  readonly ignored?: readonly string[]
}

/** The answer to a request. */
export interface ExpectedAnswer {
  readonly status: number
  readonly body: unknown
  /** The properties of the body that the service dropped, sorted. */
  readonly ignored: readonly string[]
}

/** The method, the path, which may contain a query string, and the options. */
type RequestArguments = readonly [method: string, path: string, options?: ExpectOptions]

/**
 * Expects that a request is allowed (CONTRACT.md §8, "Permissions as unit tests"): the status is 2xx or 304, and no
 * property of the body is dropped except those in `ignored`. If not, throws an error that explains the answer. Throws
 * `ConfigError` if the configuration is invalid.
 *
 * @param config the configuration, in the form of `createCollectionService`
 * @param caller in the form of `handler.as()`; `null` is anonymous
 *
 * @example
 * ```ts
 * const ann = { id: 'ann', roles: ['editor'] }
 * await expectAllowed(config, ann, 'PATCH', `/articles/${_id}`, {
 *   body: { title: 'New' },
 *   documents: { articles: [{ _id, title: 'Old' }] },
 * })
 * ```
 */
export async function expectAllowed(
  config: unknown,
  caller: Caller | null,
  ...asked: RequestArguments
): Promise<ExpectedAnswer> {
  const answer = readAnswer(await ask(config, caller, asked, explainShortly))
  const { status, ignored } = answer
  const [, , { ignored: expected = [] } = {}] = asked
  const lost = ignored.filter((name) => !expected.includes(name))
  const isAnswered = (status >= 200 && status < 300) || status === 304
  if (!isAnswered || lost.length > 0) {
    const what = isAnswered
      ? `allowed without dropping a property of the body, but these were dropped: ${lost.join(', ')}`
      : 'allowed'
    fail(what, await ask(config, caller, asked, explainRequest))
  }
  return answer
}

/**
 * Expects that a request is denied: the status is 401 or 403, or it is 404 although the document exists. Also throws if
 * the request is rejected for another reason, such as a mistyped body or path. Throws the same errors as
 * `expectAllowed`.
 *
 * @example
 * ```ts
 * await expectDenied(config, null, 'POST', '/articles', { body: { title: 'New' } })
 * ```
 */
export async function expectDenied(
  config: unknown,
  caller: Caller | null,
  ...asked: RequestArguments
): Promise<ExpectedAnswer> {
  const explanation = await ask(config, caller, asked, explainShortly)
  const answer = readAnswer(explanation)
  const { status } = answer
  if (status !== 401 && status !== 403 && !(status === 404 && explanation.missing))
    fail('denied', explanation)
  return answer
}

/** Explains a request without suggestions, which a passing test does not need. */
const explainShortly: typeof explainRequest = (config, request, options = {}) =>
  explainWith(config, request, options, null)

const NAMES: Expectation = [
  (value) => Array.isArray(value) && value.every((name) => typeof name === 'string'),
  'an array of property names',
]

/** The options of a request. Its caller, method and path are not options but arguments. */
const BROUGHT = {
  body: ANY,
  headers: ANY,
  documents: ANY,
  now: ANY,
  ignored: ANY,
  authenticate: ANY,
  production: ANY,
  hooks: ANY,
}

function ask(
  config: unknown,
  caller: Caller | null,
  [method, path, options = {}]: RequestArguments,
  explain: typeof explainRequest,
): Promise<Explanation> {
  const [fault] = judgeOptions(options, BROUGHT)
  if (fault) throw new TypeError(`${fault.path || 'options'} ${fault.message}`)
  const { ignored, authenticate = false, production = false, hooks, ...request } = options
  requireOptions({ ignored }, { ignored: NAMES })
  const own = { authenticate, production, ...(hooks === undefined ? {} : { hooks }) }
  return explain(config, { caller, method, path, ...request }, own)
}

/**
 * Reads the answer from an explanation. The dropped properties are collected from three sources, because the header
 * does not name all of them, and a batch reports them in each of its results.
 */
function readAnswer({ answer: { status, body, ignored }, judgements }: Explanation): ExpectedAnswer {
  const results = isObject(body) && Array.isArray(body.results) ? body.results : []
  const told = results.flatMap((result) => (isObject(result) ? (result.ignored ?? []) : []))
  const dropped = judgements
    .filter(({ operation }) => operation !== 'read')
    .flatMap(({ rules }) => rules.filter(({ verdict }) => verdict === 'granted'))
    .flatMap((rule) => rule.dropped.map(({ name }) => name))
  return { status, body, ignored: [...new Set([...ignored, ...told.map(String), ...dropped])].sort() }
}

function fail(what: string, explanation: Explanation): never {
  throw new Error(
    [`Expected: ${what}.${hint(what, explanation)}`, printExplanation(explanation)].join('\n\n'),
  )
}

/** Returns a hint at a common mistake in tests, or an empty string. */
function hint(what: string, { answer: { status }, missing }: Explanation): string {
  if (status === 404 && !missing) return ' The option "documents" contains no such document.'
  const isOther = what === 'denied' && status >= 400 && ![401, 403, 404].includes(status)
  return isOther ? ` A ${status} is not a denial: the request was rejected for another reason.` : ''
}
