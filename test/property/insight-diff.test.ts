import { expect, test } from 'vitest'
import { createRandom } from '../../src/testing/adapter/fuzz/random.js'
import { checkPair } from '../support/insight/check-pair.js'
import { pairOf } from '../support/insight/pairs.js'

/** `comparePermissions` misses nothing and makes nothing up (CONTRACT.md §8, "Diff"). */

const isLong = process.env.LONG !== undefined
const PAIRS = isLong ? 20_000 : 200
/** Of so many pairs one is judged in all its triples, and has its witnesses run by the handlers. */
const EVERY = isLong ? 100 : 25

test('every difference is named, and every witness shows one', async () => {
  let found = 0
  for (let number = 0; number < PAIRS; number++) {
    const random = createRandom(number)
    const isWhole = isLong && number % EVERY === 0
    found += await checkPair(pairOf(number, random), {
      random,
      ...(isWhole ? {} : { triples: isLong ? 2000 : 60 }),
      byHandlers: isLong ? number % 10 === 0 : number % EVERY === 0,
    })
  }
  expect(found).toBeGreaterThan(PAIRS)
})

test('with patterns too, or what is not decided is said', async () => {
  let found = 0
  for (let number = 0; number < PAIRS / 10; number++) {
    const random = createRandom(100_000 + number)
    const triples = isLong ? 2000 : 60
    found += await checkPair(pairOf(number, random, { hasPatterns: true }), {
      ...{ random, triples, hasPatterns: true },
      byHandlers: number % 5 === 0,
    })
  }
  expect(found).toBeGreaterThan(PAIRS / 20)
})
