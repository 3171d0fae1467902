import { expect, test } from 'vitest'
import { createCollectionService, createMemoryAdapter } from '../../src/index.js'
import { explainWith } from '../../src/tools/insight/explain/explain-request.js'
import type { Explanation, JudgedCondition } from '../../src/tools/insight/explain/explanation.js'
import { findEarlier } from '../support/earlier-grants.js'
import { type Asked, askeds } from '../support/explained-requests.js'
import fc from '../support/fast-check.js'
import { perRound, rounds } from '../support/tier.js'

// CONTRACT.md §8, "Explain"

const RUNS = rounds(300, 20_000)

const silent = { info() {}, warn() {}, error() {} }
const hasher = { hash: async () => 'hashed', verify: async () => false }

/** How configurations differ is looked at elsewhere. */
const explain = ({ config, request }: Asked): Promise<Explanation> =>
  explainWith(config, request, { authenticate: true }, () => [])

interface Answered {
  readonly status: number
  readonly code: unknown
  readonly fields: unknown
  readonly ignored: unknown
  readonly body: unknown
}

/** What a service of its own answers. */
async function ask(config: unknown, { request }: Asked): Promise<Answered> {
  const { documents, caller, method, path, body, headers, now } = request
  const handler = createCollectionService(config as Asked['config'], createMemoryAdapter({ documents }), {
    hasher,
    logger: silent,
    production: false,
    now: () => Number(now),
    authenticate: () => null,
  })
  const response = await handler.as(caller)(
    new Request(`http://service.test${path}`, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  )
  const answered = response.status === 204 || response.status === 304 ? undefined : await response.json()
  return toAnswered(response.status, answered, response.headers.get('ignored-properties') ?? undefined)
}

const isRandom = (key: string): boolean => key === 'requestId' || key === 'etag' || key === 'location'

/** What is random in an answer is left out: the `_id`s of what was made, too. */
function toAnswered(status: number, body: unknown, ignored: string | undefined): Answered {
  const { code, errors } = (body ?? {}) as { code?: unknown; errors?: { path: string; code: string }[] }
  return {
    status,
    code,
    ignored,
    fields: errors?.map((fault) => [fault.path, fault.code]),
    body: JSON.parse(
      JSON.stringify(body ?? null, (key, value) =>
        isRandom(key) || (key === '_id' && !String(value).startsWith('0190163d')) ? null : value,
      ),
    ),
  }
}

const readExplained = ({ answer }: Explanation): Answered =>
  toAnswered(answer.status, answer.body, answer.headers['ignored-properties'])

/** Every condition holds as its parts do, and decides about its rule. */
function checkConditions({ judgements }: Explanation): void {
  const check = (condition: JudgedCondition): boolean => {
    if (condition.kind === 'comparison') return condition.holds
    const parts = condition.parts.map(check)
    const holds = condition.kind === 'all' ? parts.every(Boolean) : parts.some(Boolean)
    expect(condition.holds).toBe(holds)
    return holds
  }
  for (const { rules } of judgements) {
    for (const { verdict, where, check: asked } of rules) {
      if (where) expect(check(where)).toBe(verdict !== 'where')
      if (asked) expect(check(asked)).toBe(verdict !== 'check')
    }
  }
}

/** What is said of each operation agrees with the answer. */
function checkVerdicts({ answer, judgements, missing }: Explanation): void {
  const refused = judgements.filter(({ isGranted }) => !isGranted)
  if (
    answer.status < 300 &&
    answer.code === null &&
    !judgements.every(({ operation }) => operation === 'read')
  )
    expect(refused).toEqual([])
  if (missing) expect(refused.length).toBeGreaterThan(0)
}

test('the answer is the handler’s, and what is said of it is true; a suggestion lets the request through', async () => {
  const seen = { denied: 0, suggested: 0 }
  await fc.assert(
    fc.asyncProperty(askeds, async (asked) => {
      const explanation = await explain(asked)
      expect(readExplained(explanation)).toEqual(await ask(asked.config, asked))
      checkConditions(explanation)
      checkVerdicts(explanation)
      const { missing, suggestion } = explanation
      if (missing) seen.denied += 1
      if (!suggestion) return
      seen.suggested += 1
      const [{ path, value }] = suggestion.patch
      const granted = structuredClone(asked.config)
      put(granted, path, value)
      const { status } = await ask(granted, asked)
      expect(status === 304 || (status >= 200 && status < 300), `${status}`).toBe(true)
    }),
    { numRuns: RUNS },
  )
  expect(perRound(seen.denied, RUNS)).toBeGreaterThan(0.12)
  expect(perRound(seen.suggested, RUNS)).toBeGreaterThan(0.05)
})

/** Batches and bulks have several operations; of each alone it is known what comes before. */
const isSingle = ({ request }: Asked): boolean => !/\/_batch|\/bulk/.test(request.path)

test('no candidate before the suggested one lets the request through', async () => {
  const runs = rounds(40, 1000)
  let refused = 0
  await fc.assert(
    fc.asyncProperty(askeds.filter(isSingle), async (asked) => {
      const explanation = await explain(asked)
      if (explanation.missing) refused += 1
      expect(await findEarlier(asked, explanation)).toBeUndefined()
    }),
    { numRuns: runs },
  )
  expect(perRound(refused, runs)).toBeGreaterThan(0.05)
})

/** RFC 6902, `add`. */
function put(target: unknown, pointer: string, value: unknown): void {
  const names = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const last = names.pop() ?? ''
  const parent = names.reduce((at, name) => (at as { [name: string]: unknown })[name], target)
  ;(parent as { [name: string]: unknown })[last] = value
}
