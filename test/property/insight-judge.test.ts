import { expect, test } from 'vitest'
import { createRandom } from '../../src/tools/testing/adapter/fuzz/random.js'
import { createSmallHandler } from '../support/insight/ask-handler.js'
import { findApart } from '../support/insight/check-pair.js'
import { type CollectionJudge, createJudge, judgeCollection } from '../support/insight/judge.js'
import { pairOf } from '../support/insight/pairs.js'
import { randomConfig } from '../support/insight/random-config.js'
import {
  CALLERS,
  COLLECTIONS,
  documentsOf,
  requestsOf,
  type SmallCaller,
} from '../support/insight/universe.js'
import { type Judged, judgeAll } from '../support/insight/whole.js'
import { isLong, perRound, rounds, seedOf } from '../support/tier.js'

/** The judge of the small universe is what others are compared with: so it is compared with the handler first. */

const CONFIGS = rounds(30, 2000)
const TRIPLES = 40
/** How many pairs of each kind are judged in all their triples. */
const WHOLE = isLong ? 40 : 1

test('the judge of the small universe answers what the handler answers', async () => {
  const seen = new Map<number, number>()
  for (let seed = 1; seed <= CONFIGS; seed++) {
    const random = createRandom(seedOf(seed))
    const config = randomConfig(random, { hasPatterns: seed % 4 === 0 })
    const judge = createJudge(config)
    const handler = await createSmallHandler(config)
    const all = new Map(
      COLLECTIONS.map((name) => {
        const { schema } = config.collections[name]
        return [name, { documents: documentsOf(schema), requests: requestsOf(name, schema) }] as const
      }),
    )
    for (let i = 0; i < TRIPLES; i++) {
      const { documents = [], requests = [] } = all.get(random.pick(COLLECTIONS)) ?? {}
      const operation = random.pick(['read', 'create', 'patch', 'patch', 'put', 'delete'])
      const request = random.pick(requests.filter((one) => one.operation === operation))
      const [caller, document] = [random.pick(CALLERS), random.pick(documents)]
      const context = JSON.stringify({ seed, config, caller, document, request })
      const answer = await handler.ask(caller, document, request)
      const judged = judge(caller, document, request)
      const errors = veil(judged.errors, judgeCollection(config.collections[request.collection]), caller)
      expect({ context, answer }).toEqual({ context, answer: { ...judged, errors } })
      seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1)
    }
    await handler.close()
  }
  // Nearly all would be refused if the universe were a poor one.
  for (const status of [200, 201, 204, 400, 401, 403, 404])
    expect(perRound(seen.get(status) ?? 0, CONFIGS)).toBeGreaterThan(0)
})

test('what triples by chance have apart is found among all that are judged', () => {
  let found = 0
  for (let number = 0; number < WHOLE * 3; number++) {
    const random = createRandom(seedOf(5000 + number))
    const { kind, before, after } = pairOf(number, random)
    if (kind === 'same') continue
    const name = random.pick(COLLECTIONS)
    const [one, other] = [before.collections[name], after.collections[name]]
    const documents = documentsOf(one.schema)
    const requests = requestsOf(name, one.schema)
    const all = new Set<string>()
    for (const judged of judgeAll([one, other], { documents, requests }))
      for (const key of listApart(judged)) all.add(key)
    const [judge, judgeAfter] = [createJudge(before), createJudge(after)]
    for (let i = 0; i < 1500; i++) {
      const request = random.pick(requests)
      const [caller, document] = [random.pick(CALLERS), random.pick(documents)]
      const [was, is] = [judge(caller, document, request), judgeAfter(caller, document, request)]
      for (const key of listApart({ triple: { caller, document, request }, was, is })) {
        found += 1
        const context = JSON.stringify({ number, name, before, after, caller, document, request })
        expect({ context, key, isFound: isCovered(key, all) }).toEqual({ context, key, isFound: true })
      }
    }
  }
  expect(perRound(found, WHOLE)).toBeGreaterThan(5)
})

/**
 * Errors as a caller learns of them: those of properties that the caller may neither read nor write, whatever the documents,
 * become one, of the whole (CONTRACT.md §6, "Problems"). The judge names all.
 */
function veil(
  errors: readonly string[],
  { readersOf, writersOf }: CollectionJudge,
  caller: SmallCaller | null,
): readonly string[] {
  const readers = readersOf(caller)
  const updating = readers.length > 0 ? writersOf.update(caller) : []
  const rules = [...readers, ...writersOf.create(caller), ...updating]
  const isKnown = (error: string): boolean => {
    const [, name = ''] = error.split(/[/ ]/)
    return rules.some((rule) => rule.includes(name))
  }
  const [hidden] = errors.filter((error) => !isKnown(error))
  if (hidden === undefined) return errors
  return [...errors.filter(isKnown), ` ${hidden.split(' ').at(-1)}`].sort()
}

/** What two answers have apart, beside who sees it; of callers with the same rules the one with fewer roles is judged. */
const listApart = ({ triple: { caller, request }, was, is }: Judged): readonly string[] =>
  findApart(request.operation, was, is).map(({ name, kind }) =>
    JSON.stringify([request.operation, name, kind, caller?.roles ?? null]),
  )

function isCovered(key: string, all: ReadonlySet<string>): boolean {
  const [operation, name, kind, roles] = JSON.parse(key) as [string, string, string | null, string[] | null]
  const fewer = roles === null ? [null] : SETS.filter((some) => some.every((role) => roles.includes(role)))
  return fewer.some((some) => all.has(JSON.stringify([operation, name, kind, some])))
}

const SETS: readonly (readonly string[])[] = CALLERS.flatMap((caller) => (caller ? [caller.roles] : []))

test('a pair that means the same is judged the same', () => {
  let different = 0
  for (let number = 0; number < CONFIGS * 3; number++) {
    const random = createRandom(seedOf(1000 + number))
    const { kind, before, after } = pairOf(number, random)
    const [judge, judgeAfter] = [createJudge(before), createJudge(after)]
    for (const name of COLLECTIONS) {
      const { schema } = before.collections[name]
      const [documents, requests] = [documentsOf(schema), requestsOf(name, schema)]
      for (let i = 0; i < 60; i++) {
        const [caller, document] = [random.pick(CALLERS), random.pick(documents)]
        const request = random.pick(requests)
        const [one, other] = [judge(caller, document, request), judgeAfter(caller, document, request)]
        const context = JSON.stringify({ number, before, after, caller, document, request })
        if (kind === 'same') expect({ context, answer: other }).toEqual({ context, answer: one })
        else if (JSON.stringify(one) !== JSON.stringify(other)) different += 1
      }
    }
  }
  expect(perRound(different, CONFIGS * 3)).toBeGreaterThan(0.05)
})
