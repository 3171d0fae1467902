import { expect, test } from 'vitest'
import { ConfigError } from '../../src/index.js'
import { comparePermissions } from '../../src/tools/insight/index.js'
import { createRandom } from '../../src/tools/testing/adapter/fuzz/random.js'
import { checkPair } from '../support/insight/check-pair.js'
import { countFilled } from '../support/insight/filled.js'
import { pairOf } from '../support/insight/pairs.js'
import { checkRenamed } from '../support/insight/renamed-pair.js'
import { createTestService } from '../support/service.js'
import { isLong, perRound, rounds, seedOf } from '../support/tier.js'

/** `comparePermissions` misses nothing and makes nothing up (CONTRACT.md §8, "Diff"). */

const PAIRS = rounds(200, 20_000)
/** Of so many pairs one is judged in all its triples, and has its witnesses run by the handlers. */
const EVERY = rounds(25, 100)

test('every difference is named, and every witness shows one', async () => {
  let found = 0
  for (let number = 0; number < PAIRS; number++) {
    const random = createRandom(seedOf(number))
    const isWhole = isLong && number % EVERY === 0
    found += await checkPair(pairOf(number, random), {
      random,
      ...(isWhole ? {} : { triples: rounds(60, 2000) }),
      byHandlers: isLong ? number % 10 === 0 : number % EVERY === 0,
    })
  }
  expect(perRound(found, PAIRS)).toBeGreaterThan(0.5)
})

test('with patterns too, or what is not decided is said', async () => {
  let found = 0
  for (let number = 0; number < PAIRS / 10; number++) {
    const random = createRandom(seedOf(100_000 + number))
    const triples = rounds(60, 2000)
    found += await checkPair(pairOf(number, random, { hasPatterns: true }), {
      random,
      triples,
      hasPatterns: true,
      byHandlers: number % 5 === 0,
    })
  }
  expect(perRound(found, PAIRS / 10)).toBeGreaterThan(0.25)
})

test('with hooks that fill what is required too', async () => {
  let [found, filled] = [0, 0]
  for (let number = 0; number < PAIRS / 4; number++) {
    const random = createRandom(seedOf(200_000 + number))
    const pair = pairOf(number, random)
    filled += countFilled(pair.before)
    found += await checkPair(pair, {
      random,
      triples: rounds(200, 2000),
      byHandlers: false,
      isFilled: true,
    })
  }
  expect(perRound(found, PAIRS / 4)).toBeGreaterThan(0.5)
  expect(perRound(filled, PAIRS / 4)).toBeGreaterThan(0.1)
})

test('a rename is no difference, and hides none', async () => {
  let found = 0
  for (let number = 0; number < PAIRS / 4; number++) {
    const random = createRandom(seedOf(300_000 + number))
    found += await checkRenamed(pairOf(number, random), random, { byHandlers: number % 10 === 0 })
  }
  expect(perRound(found, PAIRS / 4)).toBeGreaterThan(0.5)
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

/** Two roles that take from their holders what every member may, so that the rule of owners comes in. */
const rolesWithout = (pick: string) => ({
  collections: {
    notes: {
      schema: { first: { type: 'string' }, second: { type: 'string' } },
      permissions: {
        user: { read: true, update: true },
        one: { update: false },
        two: { update: false },
        owner: { update: { pick: [pick] } },
      },
    },
  },
})

test('each of two roles whose holders meet the same rules is named', () => {
  const differences = comparePermissions(rolesWithout('first'), rolesWithout('second'), {
    authenticate: true,
  })
  const named = differences.map((one) => 'witness' in one && [one.operation, one.kind, one.fields, one.roles])
  expect(named).toEqual(
    ['patch', 'put'].flatMap((operation) =>
      ['one', 'two'].flatMap((role) => [
        [operation, 'narrowing', ['first'], [role]],
        [operation, 'widening', ['second'], [role]],
      ]),
    ),
  )
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

/** Who creates writes what is theirs, and nothing else. */
const places = (set: { readonly [name: string]: unknown }) => ({
  collections: {
    notes: {
      schema: {
        name: { type: 'string' },
        place: {
          type: 'object',
          properties: {
            code: { type: 'integer', minimum: 700 },
            inner: { type: 'object', properties: { city: { type: 'string', minLength: 4 } } },
          },
        },
      },
      permissions: { '*': { read: true }, user: { create: { pick: [], set } } },
    },
  },
})

const NAMED = { name: '$user.own' }

test.each([
  ['a number', { place: { code: '$user.own' } }, NAMED, ['widening', 'narrowing']],
  ['deeper', { place: { inner: { city: '$user.own' } } }, NAMED, ['widening']],
] as const)('a caller’s value inside an object has to fit there: %s', async (_, set, other, kinds) => {
  const [before, after] = [places(set), places(other)]
  const all = comparePermissions(before, after, { authenticate: true })
  const refused = all.flatMap((one) =>
    'witness' in one && one.fields.length === 0 && one.operation === 'create' ? [one] : [],
  )
  expect(refused.map(({ kind }) => kind)).toEqual(kinds)
  for (const {
    kind,
    witness: { caller, request },
  } of refused) {
    const statuses = await Promise.all(
      [before, after].map(async (config) => {
        const service = createTestService(config, { authenticate: () => null })
        return (await service.send('POST /notes', { caller, body: request.body ?? {} })).status
      }),
    )
    expect(statuses).toEqual(kind === 'widening' ? [403, 201] : [201, 403])
  }
})

test('a value beside a caller’s that never fits is a fault of the configuration', () => {
  const never = places({ place: { code: 1, inner: { city: '$user.own' } } })
  for (const pair of [[never, places(NAMED)] as const, [places(NAMED), never] as const])
    expect(() => comparePermissions(...pair, { authenticate: true })).toThrow(ConfigError)
})

test('a role that could do all and is left with deleting still deletes what others show it', () => {
  const granting = (clerk: unknown) => ({
    collections: {
      notes: { schema: { a: { type: 'string' } }, permissions: { '*': { read: true }, clerk } },
    },
  })
  const all = comparePermissions(granting(true), granting({ delete: true }), { authenticate: true })
  expect(new Set(all.map((one) => 'operation' in one && one.operation))).toEqual(
    new Set(['create', 'patch', 'put']),
  )
})
