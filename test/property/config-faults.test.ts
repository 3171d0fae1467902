import { describe, expect, test } from 'vitest'
import { ConfigError, createCollectionService } from '../../src/index.js'
import fc from '../support/fast-check.js'
import { rounds, seedOf } from '../support/tier.js'

// CONTRACT.md §1, "Faults"

type Json = { [name: string]: unknown }

const sound = (): Json => ({
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true, lowercase: true },
        password: { type: 'hash', required: true, minLength: 8 },
        role: { type: 'string', enum: ['editor', 'admin'] },
        teams: { type: 'array', items: { type: 'string' } },
      },
      permissions: { owner: { read: true }, admin: true },
    },
    notes: {
      schema: {
        title: { type: 'string', required: true, maxLength: 20 },
        kind: { type: 'string', enum: ['a', 'b'], lowercase: true, default: 'a' },
        views: { type: 'integer', minimum: 0, default: 0 },
        at: { type: 'timestamp', minimum: '2020-01-01', default: '$now' },
        tags: { type: 'array', items: { type: 'string' } },
        place: { type: 'object', properties: { city: { type: 'string' }, zip: { type: 'string' } } },
        rows: { type: 'array', items: { type: 'object', properties: { x: { type: 'integer' } } } },
        author: { type: 'reference', collection: 'users' },
        more: { type: 'json' },
      },
      indexes: [{ fields: ['kind', 'createdAt'] }, { fields: ['views'] }],
      permissions: {
        '*': { read: { omit: ['more'], where: { kind: 'a' } } },
        user: {
          create: { pick: ['title', 'tags'], set: { views: 1 }, check: { title: { $ne: 'x' } } },
          read: true,
          update: { where: { views: { $gte: 0 } }, check: { $or: [{ kind: 'a' }, { kind: 'b' }] } },
        },
        owner: { delete: true },
        editor: { pick: ['title'] },
      },
    },
    tasks: {
      schema: { name: { type: 'string' }, note: { type: 'reference', collection: 'notes' } },
      additionalProperties: true,
      permissions: { user: { read: true }, '*': { create: true } },
    },
  },
  auth: { identifier: 'email', secret: 'password', roleField: 'role', cost: 10 },
  limits: { defaultLimit: 10, maxLimit: 20 },
})

/** Puts a value at a JSON pointer; `undefined` takes away what is there. */
function put(config: Json, pointer: string, value: unknown): void {
  const parts = pointer.split('/').slice(1)
  const last = parts.pop() ?? ''
  const object = parts.reduce((outer, name) => outer[name] as Json, config)
  if (value === undefined) delete object[last]
  else object[last] = typeof value === 'object' ? structuredClone(value) : value
}

function faultsOf(config: unknown, options: object = { production: true }): readonly string[] {
  try {
    createCollectionService(config as Json, undefined, { logger: { warn() {} }, ...options })
    return []
  } catch (thrown) {
    if (thrown instanceof ConfigError) return [...new Set(thrown.faults.map(({ path }) => path))].sort()
    throw thrown
  }
}

const N = '/collections/notes'
const U = '/collections/users'
const NS = `${N}/schema`
const NP = `${N}/permissions`

interface Plant {
  readonly at: string
  readonly value: unknown
  /** Where the faults lie; default: where they were planted. */
  readonly faults?: readonly string[]
}

const plant = (at: string, value: unknown, ...faults: string[]): Plant =>
  faults.length > 0 ? { at, value, faults } : { at, value }

/** Faults that may all stand in one configuration, for each lies at a place of its own. */
const PLANTS: readonly Plant[] = [
  plant('/plugins', []),
  plant('/limit', {}),
  plant('/limits/bulk', 0),
  plant('/limits/bodybytes', 1),
  plant('/limits/defaultLimit', 21),
  plant('/limits/values', () => {}),
  plant('/auth/cost', 4),
  plant('/auth/roles', 'role'),
  plant('/collections/auth', { schema: {} }),
  plant(
    '/collections/_x',
    { schema: { a: { type: 'string', pattern: '(' } } },
    '/collections/_x',
    '/collections/_x/schema/a/pattern',
  ),
  plant('/collections/Notes', { schema: {} }),
  plant('/collections/empty', {}, '/collections/empty/schema'),
  plant('/collections/none', 5),
  plant(`${U}/colour`, 'red'),
  plant(
    `${U}/schema/age`,
    { type: 'strng', requird: true },
    `${U}/schema/age/type`,
    `${U}/schema/age/requird`,
  ),
  plant(`${U}/schema/teams/index`, true, `${U}/schema/teams/maxItems`),
  plant(`${U}/schema/email/uniq`, true),
  plant(`${U}/schema/password/maxLength`, 4, `${U}/schema/password/minLength`),
  plant(
    `${U}/indexes`,
    [{ fields: ['password'] }, 'x', { fields: ['role', 5, 'nope'] }],
    `${U}/indexes/0/fields/0`,
    `${U}/indexes/1`,
    `${U}/indexes/2/fields/1`,
    `${U}/indexes/2/fields/2`,
  ),
  plant(
    `${U}/permissions/owner/read`,
    { pick: ['password', 7, 'nope', 'role', 'role'] },
    `${U}/permissions/owner/read/pick`,
    `${U}/permissions/owner/read/pick/0`,
    `${U}/permissions/owner/read/pick/1`,
    `${U}/permissions/owner/read/pick/2`,
  ),
  plant(
    `${U}/permissions/user`,
    { pick: ['role'], read: { where: { nope: 1 } } },
    `${U}/permissions/user/read`,
    `${U}/permissions/user/read/where/nope`,
  ),
  plant(`${NS}/title/minLength`, 21),
  plant(`${NS}/title/pattern`, '('),
  plant(`${NS}/kind/enum`, ['A', 5, 'b'], `${NS}/kind/enum/0`, `${NS}/kind/enum/1`),
  plant(`${NS}/views/minumum`, 5),
  plant(`${NS}/views/unique`, 'yes'),
  plant(`${NS}/at/maximum`, 'soon'),
  plant(`${NS}/tags/default`, [1]),
  plant(`${NS}/tags/items/maxLength`, -1),
  plant(`${NS}/place/properties/city/default`, 5),
  plant(`${NS}/place/properties/zip`, { type: 'strong' }, `${NS}/place/properties/zip/type`),
  plant(`${NS}/rows/items/properties/x/immutable`, true),
  plant(`${NS}/rows/items/properties/x/default`, 1.5),
  plant(`${NS}/author/collection`, 'people'),
  plant(
    `${NS}/deep`,
    { type: 'array', items: { type: 'array', items: { type: 'reference', collection: 'nobody' } } },
    `${NS}/deep/items/items`,
    `${NS}/deep/items/items/collection`,
  ),
  plant(
    `${NS}/late`,
    { type: 'string', maxLength: 1, default: 'ab', required: true, nullable: true },
    `${NS}/late/default`,
    `${NS}/late/nullable`,
  ),
  plant(`${NS}/list`, { type: 'array' }, `${NS}/list/items`),
  plant(`${NS}/Title`, { type: 'json' }),
  plant(`${NS}/a-b`, { type: 'integer', default: 'x' }, `${NS}/a-b`, `${NS}/a-b/default`),
  plant(
    `${NP}/*/read/where/views`,
    { $gt: '$user.nope', $lte: '1' },
    `${NP}/*/read/where/views/$gt`,
    `${NP}/*/read/where/views/$lte`,
  ),
  plant(
    `${NP}/*/read/where/nope`,
    { $more: 1, $exists: 5, $eq: 'x' },
    `${NP}/*/read/where/nope`,
    `${NP}/*/read/where/nope/$more`,
    `${NP}/*/read/where/nope/$exists`,
  ),
  plant(`${NP}/*/read/omit`, ['_id', 'more'], `${NP}/*/read/omit/0`),
  plant(`${NP}/user/create/set/createdBy`, 'x'),
  plant(`${NP}/user/create/set/kind`, 5),
  plant(`${NP}/user/create/set/nope`, '$user.nothing'),
  plant(`${NP}/user/create/check/at`, { $in: '$now' }, `${NP}/user/create/check/at/$in`),
  plant(`${NP}/user/create/pick/2`, 'titel'),
  plant(`${NP}/user/update/check/$or/2`, 5),
  plant(
    `${NP}/user/update/check/$or/1`,
    { tags: { $regex: '(' } },
    `${NP}/user/update/check/$or/1/tags/$regex`,
  ),
  plant(`${NP}/user/remove`, true),
  plant(`${NP}/owner/create`, true),
  plant(`${NP}/editor/omit`, ['title', 'txt'], `${NP}/editor/omit/1`),
  plant(`${NP}/`, true),
  plant('/collections/tasks/permissions/*', true),
  plant('/collections/tasks/schema/note/onDelete', 'forget'),
]

/** A sound configuration with something else at some places. */
const planted = (plants: readonly Plant[]): Json => {
  const config = sound()
  for (const { at, value } of plants) put(config, at, value)
  return config
}

const placesOf = (plants: readonly Plant[]): readonly string[] =>
  plants.flatMap(({ at, faults }) => faults ?? [at]).sort()

describe('whatever faults a configuration has', () => {
  test('a sound one has none', () => {
    expect(faultsOf(sound())).toEqual([])
  })

  test.each(PLANTS)('each is found by itself: $at', (one) => {
    expect(faultsOf(planted([one]))).toEqual(placesOf([one]))
  })

  test('all of them are found at once, and nothing that only follows from them', { timeout: 60_000 }, () => {
    expect(faultsOf(planted(PLANTS))).toEqual(placesOf(PLANTS))
    fc.assert(
      fc.property(fc.subarray([...PLANTS], { minLength: 2 }), (plants) => {
        expect(faultsOf(planted(plants))).toEqual(placesOf(plants))
      }),
      { numRuns: rounds(60), seed: seedOf(23) },
    )
  })

  test('those of the options and of the adapter among them', () => {
    const config = planted([plant('/limits/bulk', 0), plant(`${NP}/*`, true)])
    expect(faultsOf(config, { production: true, basePath: 'api' })).toEqual([
      `${NP}/*`,
      '/limits/bulk',
      'options.basePath',
    ])
    const faults = ['adapter', 'options', '/limits/bulk'].map((path) => expect.objectContaining({ path }))
    expect(() => createCollectionService(config, {} as never, null as never)).toThrow(
      expect.objectContaining({ faults: expect.arrayContaining(faults) }),
    )
  })
})

/** Faults that others would only follow from: what is named, and what would become of it. */
const ALONE: readonly (readonly [what: string, edits: readonly Plant[]])[] = [
  ['what makes an identifier is no boolean', [plant(`${U}/schema/email/unique`, 'yes')]],
  [
    'what makes an identifier is misspelt',
    [plant(`${U}/schema/email`, { type: 'string', uniqe: true }, `${U}/schema/email/uniqe`)],
  ],
  [
    'the same, without a name in auth',
    [
      plant('/auth/identifier', undefined, ''),
      plant(`${U}/schema/email`, { type: 'string', uniqe: true }, `${U}/schema/email/uniqe`),
    ],
  ],
  ['the type of an identifier is misspelt', [plant(`${U}/schema/email/type`, 'text')]],
  ['the type of a secret is misspelt', [plant(`${U}/schema/password/type`, 'hsh')]],
  ['the type of a role field is misspelt', [plant(`${U}/schema/role/type`, 'sting')]],
  [
    'a role field holds nobody knows what',
    [plant(`${U}/schema/role`, { type: 'array', items: 5 }, `${U}/schema/role/items`)],
  ],
  [
    'the accounts are no collection',
    [plant(U, 5), plant(`${NP}/user/read`, { where: { title: '$user.name' } }, '')],
  ],
  [
    'the accounts have no schema',
    [plant(U, {}, `${U}/schema`), plant(`${NP}/user/read`, { where: { title: '$user.name' } }, '')],
  ],
  [
    'a field of the accounts is misshapen',
    [
      plant(`${U}/schema/place`, 5),
      plant(`${NP}/user/read`, { where: { title: '$user.place.city', kind: { $in: '$user.place' } } }, ''),
    ],
  ],
  [
    'which field is the identifier is misspelt',
    [
      plant(`${U}/schema/phone`, { type: 'string', unique: true }, ''),
      plant('/auth', { identifer: 'email' }, '/auth/identifer'),
    ],
  ],
  [
    'which field is the identifier is no text',
    [
      plant(`${U}/schema/phone`, { type: 'string', unique: true }, ''),
      plant('/auth', { identifier: 5 }, '/auth/identifier'),
    ],
  ],
  [
    'auth is no object',
    [plant(`${U}/schema/phone`, { type: 'string', unique: true }, ''), plant('/auth', 'email')],
  ],
  [
    'a misshapen field is named everywhere',
    [
      plant(`${NS}/size`, { type: 'number', maximun: 5 }, `${NS}/size/maximun`),
      plant(`${NS}/colour`, { type: 'color' }, `${NS}/colour/type`),
      plant(`${NS}/spots`, { type: 'array', items: { type: 'spot' } }, `${NS}/spots/items/type`),
      plant(
        `${NS}/marks`,
        { type: 'array', items: { type: 'string' }, maxItems: 'x', index: true },
        `${NS}/marks/maxItems`,
      ),
      plant(`${N}/indexes/0`, { fields: ['size', 'spots', 'colour'] }, ''),
      plant(
        `${NP}/user/read`,
        { pick: ['size', 'colour'], where: { size: 5, colour: 'red', 'colour.x': 1, spots: 5 } },
        '',
      ),
      plant(
        `${NP}/user/create`,
        { omit: ['spots'], set: { size: 2, colour: { r: 1 }, spots: ['$user.role'] } },
        '',
      ),
    ],
  ],
  [
    'that undeclared properties are stored is misspelt',
    [
      plant(`${N}/additionalPropertys`, true),
      plant(`${NP}/user/read`, { pick: ['anything'] }, ''),
      plant(`${NP}/user/create`, { set: { anything: 1 } }, ''),
    ],
  ],
  [
    'that undeclared properties are stored is no boolean',
    [plant(`${N}/additionalProperties`, 'yes'), plant(`${NP}/user/read`, { pick: ['anything'] }, '')],
  ],
  [
    'a condition that would close a door is at fault',
    [
      plant(
        `${NP}/*`,
        { create: true, read: { where: { titel: 'x' } }, update: true, delete: true },
        `${NP}/*/read/where/titel`,
      ),
    ],
  ],
  [
    'a name that would close a door is at fault',
    [
      plant(
        `${NP}/*`,
        { create: true, read: { omit: ['titel'] }, update: true, delete: true },
        `${NP}/*/read/omit/0`,
      ),
    ],
  ],
  [
    'an attribute that a default is judged by is at fault',
    [
      plant(`${NS}/p`, { type: 'string', pattern: '(', default: 'x' }, `${NS}/p/pattern`),
      plant(`${NS}/q`, { type: 'integer', minimum: 3, maximum: 1, default: 2 }, `${NS}/q/minimum`),
      plant(`${NS}/r`, { type: 'string', enum: ['A'], lowercase: true, default: 'A' }, `${NS}/r/enum/0`),
      plant(`${NS}/s`, { type: 'timestamp', minimum: 'now', default: '2020-01-01' }, `${NS}/s/minimum`),
      plant(`${NS}/t`, { type: 'timestamp', default: 'tomorrow' }, `${NS}/t/default`),
      plant(`${NS}/u`, { type: 'string', format: 'mail', default: 'x' }, `${NS}/u/format`),
    ],
  ],
  ['a limit is no number', [plant('/limits', { defaultLimit: 30, maxLimit: '40' }, '/limits/maxLimit')]],
  [
    'a collection that others refer to is misshapen',
    [plant('/collections/tasks/schema/note/collection', 'empty', ''), plant('/collections/empty', null)],
  ],
  [
    'names are no JSON',
    [plant(`${NP}/editor`, { pick: [5n, 5n] }, `${NP}/editor/pick/0`, `${NP}/editor/pick/1`)],
  ],
]

test.each(ALONE)('nothing follows where %s', (_, edits) => {
  expect(faultsOf(planted(edits))).toEqual(placesOf(edits).filter((path) => path !== ''))
})
