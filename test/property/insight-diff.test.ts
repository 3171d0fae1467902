import { expect, test } from 'vitest'
import { comparePermissions } from '../../src/insight/index.js'
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

/** Forty roles, each of which sees documents of its own; the last role's rule says `word`. */
const rolesSeeing = (word: string) => {
  const roles = Array.from({ length: 40 }, (_, i) => [
    `role${i}`,
    { read: { where: { text: i === 39 ? word : `word ${i}` } } },
  ])
  const notes = { schema: { text: { type: 'string' } }, permissions: Object.fromEntries(roles) }
  return { collections: { notes } }
}

test('of more roles than there are decisions, what the first see is named, and that there may be more', () => {
  const differences = comparePermissions(rolesSeeing('before'), rolesSeeing('after'), { authenticate: true })
  expect(differences.filter((one) => 'operation' in one && one.operation === 'read')).toMatchObject([
    { kind: 'widening', operation: 'read', fields: [], roles: ['role39'] },
    { kind: 'narrowing', operation: 'read', fields: [], roles: ['role39'] },
    { kind: 'undecided', operation: 'read', reason: 'decisions' },
  ])
})

/** What members write gets an object with something of theirs inside. */
const settingInside = (name: string) => ({
  collections: {
    notes: {
      schema: { place: { type: 'object', properties: { city: { type: 'string' } } } },
      permissions: { user: { read: true, create: { set: { place: { city: name } } } } },
    },
  },
})

test('a variable inside an object that a rule sets is one that callers may have', () => {
  const [before, after] = [settingInside('$user.city'), settingInside('$user.town')]
  expect(comparePermissions(before, before, { authenticate: true })).toEqual([])
  expect(comparePermissions(before, after, { authenticate: true })).not.toEqual([])
})
