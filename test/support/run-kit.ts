import { expect, test } from 'vitest'
import { type FuzzCoverage, type TestStorage, testAdapter } from '../../src/tools/testing/index.js'
import { isLong, isQuick, rounds, seedOf } from './tier.js'

/** Many more questions, for `npm run test:long`. */

const STORES = isQuick ? 10 : rounds(60, 1000)
const QUERIES = 100
/** How often each operator is asked about values of each type, at least, with any seed. */
const TIMES = isLong ? 200 : 5

const OPERATORS = ['eq', 'lt', 'lte', 'gt', 'gte', 'present']
const TYPES = ['string', 'timestamp', 'number', 'integer', 'boolean']

/** Runs the kit of adapters with vitest, and checks that the random part has asked enough. */
export function runKit(createStorage: () => Promise<TestStorage>): void {
  testAdapter({
    test: (name, run) => test(name, run, rounds(300_000, 3_600_000)),
    createStorage,
    fuzz: { stores: STORES, queries: QUERIES, seed: seedOf(1), report: checkCoverage },
  })
}

function checkCoverage({ stores, queries, nonTrivial, conditions }: FuzzCoverage): void {
  const share = `${Math.round(nonTrivial * 100)} % of the answers are neither empty nor everything`
  const asked = Object.entries(conditions).map(([name, times]) => `${name} ${times}`)
  console.log(`${stores} stores, ${queries} queries; ${share}\n${isLong ? asked.join(' · ') : ''}`)
  expect([stores, queries]).toEqual([STORES, STORES * QUERIES])
  expect(nonTrivial).toBeGreaterThan(0.4)
  if (isQuick) return
  const pairs = OPERATORS.flatMap((operator) =>
    TYPES.flatMap((type) => [`${operator} ${type}`, `${operator} ${type}[]`]),
  )
  const patterns = ['match string', 'match string[]', 'match timestamp']
  const rare = [...pairs, ...patterns].filter((pair) => (conditions[pair] ?? 0) < TIMES)
  expect(rare).toEqual([])
}
