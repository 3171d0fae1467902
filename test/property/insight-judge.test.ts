import { expect, test } from 'vitest'
import { createRandom } from '../../src/testing/adapter/fuzz/random.js'
import { createSmallHandler } from '../support/insight/ask-handler.js'
import { createJudge } from '../support/insight/judge.js'
import { pairOf } from '../support/insight/pairs.js'
import { randomConfig } from '../support/insight/random-config.js'
import { CALLERS, COLLECTIONS, documentsOf, requestsOf } from '../support/insight/universe.js'

/** The judge of the small universe is what others are compared with: so it is compared with the handler first. */

const CONFIGS = process.env.LONG === undefined ? 30 : 2000
const TRIPLES = 40

test('the judge of the small universe answers what the handler answers', async () => {
  const seen = new Map<number, number>()
  for (let seed = 1; seed <= CONFIGS; seed++) {
    const random = createRandom(seed)
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
      expect({ context, answer }).toEqual({ context, answer: judge(caller, document, request) })
      seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1)
    }
    await handler.close()
  }
  // Nearly all would be refused if the universe were a poor one.
  for (const status of [200, 201, 204, 400, 401, 403, 404]) expect(seen.get(status)).toBeGreaterThan(3)
})

test('a pair that means the same is judged the same', () => {
  let different = 0
  for (let number = 0; number < CONFIGS * 3; number++) {
    const random = createRandom(1000 + number)
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
  expect(different).toBeGreaterThan(CONFIGS / 2)
})
