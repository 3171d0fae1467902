import { describe, expect, test } from 'vitest'
import { ConfigError } from '../../src/index.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §5, "Variables", "Claims"

const TEAM = '01990000-0000-7000-8000-000000000001'
const TIME = '2026-11-20T08:00:00.000Z'

const scalars = {
  text: { type: 'string' },
  time: { type: 'timestamp' },
  team: { type: 'reference', collection: 'teams' },
  number: { type: 'number' },
  whole: { type: 'integer' },
  flag: { type: 'boolean' },
}
const lists = Object.fromEntries(
  Object.entries(scalars).map(([name, items]) => [`${name}s`, { type: 'array', items }]),
)
const schema = {
  ...scalars,
  ...lists,
  place: { type: 'object', properties: { city: { type: 'string' } } },
  any: { type: 'json' },
}
const SAMPLES: { readonly [name: string]: readonly unknown[] } = {
  text: ['x', TIME, TEAM],
  time: [TIME],
  team: [TEAM],
  number: [1, 1.5],
  whole: [1],
  flag: [true],
  place: [{ city: 'Ulm' }],
}
/** Values that a caller may have in a field: of a list never the empty one, which fits every list. */
function samplesOf(name: string): readonly unknown[] {
  if (name === 'any') return Object.keys(schema).flatMap((other) => (other === name ? [] : samplesOf(other)))
  return SAMPLES[name] ?? (SAMPLES[name.slice(0, -1)] ?? []).map((value) => [value])
}

const NAMES = Object.keys(schema)

/** Where a configuration is at fault. */
function faultsOf(permissions: object, options: object = {}, more: object = {}): readonly string[] {
  const config = {
    collections: {
      teams: { schema: {} },
      users: { schema: { ...schema, email: { type: 'string', unique: true }, password: { type: 'hash' } } },
      things: { schema, permissions },
      ...more,
    },
  }
  try {
    createTestService(config, options)
    return []
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.faults.map(({ path }) => path)
    throw thrown
  }
}
const THINGS = '/collections/things/permissions'
const byHost = { authenticate: () => null }

describe('a variable is a fault of the configuration exactly where no value of it fits the field', () => {
  const pairs = NAMES.flatMap((target) =>
    NAMES.map((source) => ({ target, source, role: `${target} ${source}` })),
  )
  const sets = Object.fromEntries(
    pairs.map(({ target, source, role }) => [role, { create: { set: { [target]: `$user.${source}` } } }]),
  )
  const compared = pairs.filter(({ target }) => target in scalars)
  const wheres = Object.fromEntries(
    compared.map(({ target, source, role }) => [
      role,
      { read: { where: { [target]: { $ne: `$user.${source}` } } } },
    ]),
  )

  /** Where a host says what its callers have, nothing is known at start. */
  const createHosted = (permissions: object) =>
    createTestService(
      {
        collections: {
          teams: { schema: {}, permissions: { user: { read: true } } },
          things: { schema, permissions },
        },
      },
      { ...byHost, documents: { teams: [{ _id: TEAM }], things: [{}] } },
    )

  test('in a set', async () => {
    const { send } = createHosted(sets)
    const never: string[] = []
    for (const { target, source, role } of pairs) {
      const statuses: number[] = []
      for (const value of samplesOf(source)) {
        const caller = { id: 'ann', roles: [role], [source]: value }
        statuses.push((await send('POST /things', { body: {}, caller })).status)
      }
      if (!statuses.includes(201)) never.push(`${THINGS}/${role}/create/set/${target}`)
    }
    expect(faultsOf(sets).toSorted()).toEqual(never.toSorted())
  })

  test('in a condition', async () => {
    const { send } = createHosted(wheres)
    // Every text differs from the time, but no reference is one.
    const never = [`${THINGS}/team time/read/where/team/$ne`]
    for (const { target, source, role } of compared) {
      const totals: number[] = []
      for (const value of samplesOf(source)) {
        const caller = { id: 'ann', roles: [role], [source]: value }
        totals.push((await send('GET /things/count', { caller })).body.total)
      }
      if (!totals.includes(1)) never.push(`${THINGS}/${role}/read/where/${target}/$ne`)
    }
    expect(faultsOf(wheres).toSorted()).toEqual(never.toSorted())
  })
})

describe('what is known of a variable for every caller', () => {
  const set = (values: object) => ({ user: { create: { set: values } } })
  const where = (condition: object) => ({ user: { read: { where: condition } } })

  test.each<[values: object, at: string]>([
    [{ whole: '$now' }, 'whole'],
    [{ number: '$now' }, 'number'],
    [{ flag: '$now' }, 'flag'],
    [{ team: '$now' }, 'team'],
    [{ place: '$now' }, 'place'],
    [{ texts: '$now' }, 'texts'],
    [{ place: { city: ['$now'] } }, 'place'],
    [{ wholes: [1, '$now'] }, 'wholes'],
    [{ whole: '$user._id' }, 'whole'],
    [{ flag: '$user._id' }, 'flag'],
    [{ texts: '$user._id' }, 'texts'],
  ])('can never be set: %j', (values, at) => {
    for (const options of [{}, byHost]) {
      expect(faultsOf(set(values), options)).toEqual([`${THINGS}/user/create/set/${at}`])
    }
  })

  test.each<[values: object]>([
    [{ text: '$now' }],
    [{ time: '$now' }],
    [{ any: '$now' }],
    [{ any: { deep: ['$now', '$user._id'] } }],
    [{ times: ['$now'] }],
    [{ place: { city: '$now' } }],
    [{ text: '$user._id' }],
    [{ team: '$user._id' }],
  ])('can be set: %j', (values) => {
    for (const options of [{}, byHost]) expect(faultsOf(set(values), options)).toEqual([])
  })

  test.each<[condition: object, at: string]>([
    [{ whole: '$now' }, 'whole'],
    [{ whole: { $ne: '$now' } }, 'whole/$ne'],
    [{ whole: { $lt: '$user._id' } }, 'whole/$lt'],
    [{ wholes: '$user._id' }, 'wholes'],
    [{ flag: { $in: [true, '$user._id'] } }, 'flag/$in'],
    [{ team: '$now' }, 'team'],
    [{ $or: [{ text: 'a' }, { number: '$user._id' }] }, '$or/1/number'],
  ])('can never be compared: %j', (condition, at) => {
    for (const options of [{}, byHost]) {
      expect(faultsOf(where(condition), options)).toEqual([`${THINGS}/user/read/where/${at}`])
    }
  })

  test('a timestamp in a text is what the service writes', async () => {
    const { send } = createTestService(
      {
        collections: {
          things: {
            schema: { text: schema.text },
            permissions: { '*': { create: { set: { text: '$now' } }, read: true } },
          },
        },
      },
      { now: () => Date.parse(TIME) },
    )
    const { status, body } = await send('POST /things', { body: {} })
    expect([status, body.text]).toEqual([201, TIME])
  })
})

describe('a value with a variable in it is judged besides', () => {
  test.each<[values: object, at: string]>([
    [{ texts: ['$user.text', 5] }, 'texts'],
    [{ place: { city: '$user.text', zip: '1' } }, 'place'],
    [{ place: { zip: '$user.text' } }, 'place'],
    [{ texts: { first: '$user.text' } }, 'texts'],
  ])('%j', (values, at) => {
    for (const options of [{}, byHost]) {
      expect(faultsOf({ user: { create: { set: values } } }, options)).toEqual([
        `${THINGS}/user/create/set/${at}`,
      ])
    }
  })

  test('but not for what another part of it may have', () => {
    const place = {
      ...schema.place,
      properties: { city: { type: 'string', required: true }, zip: { type: 'string' } },
    }
    const config = {
      collections: {
        things: {
          schema: { place },
          permissions: { user: { update: { set: { place: { zip: '$user.zip' } } } } },
        },
      },
    }
    createTestService(config, byHost)
  })
})

test('what has a fault of its own is not judged', () => {
  const broken = { ...schema, whole: { type: 'intger' } }
  const permissions = {
    user: { create: { set: { text: '$user.whole' } }, read: { where: { text: '$user.whole' } } },
  }
  const users = { schema: { ...broken, email: { type: 'string', unique: true }, password: { type: 'hash' } } }
  expect(faultsOf(permissions, {}, { users })).toEqual(['/collections/users/schema/whole/type'])
  const things = { schema: broken, permissions: { user: { create: { set: { whole: '$now' } } } } }
  expect(faultsOf({}, {}, { things })).toEqual(['/collections/things/schema/whole/type'])
})
