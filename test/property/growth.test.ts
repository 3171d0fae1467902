import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useCaches } from '../support/caches.js'
import { type CountedStorage, createCountedMemory } from '../support/counted-memory.js'
import { createCountedPostgres } from '../support/counted-postgres.js'
import { createCountedSqlite } from '../support/counted-sqlite.js'
import { usePostgres } from '../support/postgres.js'
import type { TestService } from '../support/service.js'
import { idOf, openStored } from '../support/stored.js'
import { isQuick } from '../support/tier.js'

// CONTRACT.md §6, "Speed": a read that indexes can answer looks at as many rows in a large collection as in a small one.

useCaches()

/** The sizes of a small and of a large collection. */
const SIZES = [500, 5000] as const

/** What a group, a person and the public have, in a collection of any size. */
const IN_GROUP = 20
const OF_PERSON = 100
const PUBLIC = 10

/** The most rows in the large collection: which of the documents of a person match is another question there. */
const most = (small: number): number => 2 * small + OF_PERSON

const ofGroups = { group: { $in: '$user.groups' } }

/** Who may read a collection, by its name. */
const RULES = {
  shown: { '*': { read: true } },
  grouped: { user: { read: { where: ofGroups } } },
  reduced: { user: { read: { where: ofGroups, omit: ['note'] } } },
  owned: { owner: { read: true } },
  summed: {
    '*': { read: { where: { stage: 'public' } } },
    user: { read: { where: ofGroups } },
    owner: { read: true },
  },
  assigned: { user: { read: { where: { $or: [ofGroups, { holder: '$user._id' }] } } } },
  neighbouring: { user: { read: { where: { group: { $in: '$user.near' } } } } },
  elapsed: { user: { read: { where: { group: { $in: '$user.groups' }, at: { $lte: '$now' } } } } },
}
type RuleName = keyof typeof RULES
/** `npm test` asks under two of them. */
const RULE_NAMES: readonly RuleName[] = isQuick ? ['owned', 'summed'] : (Object.keys(RULES) as RuleName[])

const text = { type: 'string' } as const
const indexed = { type: 'string', index: true } as const

const config = {
  auth: {
    claims: {
      groups: { from: 'seats', where: { person: '$user._id' }, take: 'group' },
      near: { from: 'seats', where: { group: { $in: '$user.groups' } }, take: 'group' },
    },
  },
  collections: {
    seats: { schema: { person: indexed, group: indexed }, permissions: {} },
    folders: { schema: { name: text }, permissions: { '*': { read: true } } },
    ...Object.fromEntries(
      Object.entries(RULES).map(([name, permissions]) => [
        name,
        {
          schema: {
            group: indexed,
            stage: indexed,
            at: { type: 'timestamp', index: true },
            holder: indexed,
            title: indexed,
            folder: { type: 'reference', collection: 'folders' },
            note: text,
            code: { type: 'string', unique: true },
            tags: { type: 'array', items: text, maxItems: 5 },
          },
          indexes: [
            ['group', 'stage', 'at'],
            ['group', 'at'],
            ['holder', 'at'],
            ['group', 'createdAt'],
            ['stage', 'createdAt'],
            ['folder', 'createdAt'],
            ['tags', 'createdAt'],
            ['stage', 'tags', 'at'],
          ].map((fields) => ({ fields })),
          permissions,
        },
      ]),
    ),
  },
}

const minute = (n: number): string => new Date(Date.UTC(2020, 0, 1) + n * 60_000).toISOString()

const STAGES = ['draft', 'open', 'done'] as const

/** Documents that are spread evenly: the order of one field says nothing about another. */
const documentsOf = (size: number) =>
  Array.from({ length: size }, (_, i) => ({
    createdAt: minute((i * 7919) % size),
    createdBy: `p${i % (size / OF_PERSON)}`,
    group: `g${i % (size / IN_GROUP)}`,
    stage: i % (size / PUBLIC) === 0 ? 'public' : STAGES[i % STAGES.length],
    at: minute((i * 3571) % size),
    holder: `p${(i * 31) % (size / OF_PERSON)}`,
    title: `w${(i * 13) % size} title`,
    folder: idOf(1 + (i % (size / IN_GROUP))),
    note: 'n',
    code: `c${i}`,
    tags: [`g${i % (size / IN_GROUP)}`, `t${(i * 7) % (size / IN_GROUP)}`, 't'],
  }))

/** The caller, and the groups in which the caller has a seat. */
const ME = 'p3'
const MINE = ['g3', 'g12', 'g21'] as const

/** The seats of the caller, of another in the same groups, and of everybody else. */
const seatsOf = (size: number) => [
  ...MINE.flatMap((group) => [ME, 'p4'].map((person) => ({ person, group }))),
  ...Array.from({ length: size }, (_, i) => ({ person: `q${i}`, group: `x${i % (size / IN_GROUP)}` })),
]

interface Draw {
  readonly group: string
  readonly others: string
  readonly time: string
  readonly until: string
  readonly n: number
}

/** The values of three reads: no answer may come from what an earlier one has left. */
const DRAWS: readonly Draw[] = MINE.map((group, i) => ({
  group,
  others: JSON.stringify([MINE[(i + 1) % 3], group, MINE[(i + 2) % 3]].slice(0, 3)),
  time: minute(37 * i),
  until: minute(37 * i + 200),
  n: 41 * i + 3,
}))

/** What is read, of each collection. */
const READS: { readonly [title: string]: (draw: Draw) => string } = {
  'a group by time': ({ group }) => `?q[group]=${group}&sort[at]=1&limit=20`,
  'a group and a stage, backwards': ({ group }) => `?q[group]=${group}&q[stage]=open&sort[at]=-1&limit=20`,
  'of a person, from a time on': ({ time }) => `?q[holder]=${ME}&q[at][$gte]=${time}&sort[at]=1&limit=20`,
  'the newest': ({ n }) => `?sort[createdAt]=-1&limit=${20 + (n % 3)}`,
  'from a time on': ({ time }) => `?q[at][$gte]=${time}&sort[at]=1&limit=20`,
  'several groups by time': ({ others }) => `?q[group][$in]=${others}&sort[at]=1&limit=20`,
  'the newest of several groups': ({ others }) => `?q[group][$in]=${others}&sort[createdAt]=-1&limit=20`,
  'the number in a group': ({ group }) => `/count?q[group]=${group}`,
  'the number in a group in some time': ({ group, time, until }) =>
    `/count?q[group]=${group}&q[at][$gte]=${time}&q[at][$lt]=${until}`,
  'the number in several groups': ({ others }) => `/count?q[group][$in]=${others}`,
  'either of two fields': ({ group }) => `?q[$or][0][group]=${group}&q[$or][1][holder]=${ME}&limit=20`,
  'what begins with a text': ({ n }) => `?q[title][$regex]=^w${n} &limit=20`,
  'the newest with a tag': ({ group, n }) => `?q[tags]=${group}&sort[createdAt]=-1&limit=${20 + (n % 3)}`,
  'a stage with a tag by time': ({ group }) => `?q[stage]=open&q[tags]=${group}&sort[at]=1&limit=20`,
  'the newest with one of several tags': ({ others }) =>
    `?q[tags][$in]=${others}&sort[createdAt]=-1&limit=20`,
  'the number with a tag': ({ group }) => `/count?q[tags]=${group}`,
  'the number with one of several tags': ({ others }) => `/count?q[tags][$in]=${others}`,
  'either of a tag and a group': ({ group, n }) =>
    `?q[$or][0][group]=${group}&q[$or][1][tags]=t${n}&sort[createdAt]=-1&limit=20`,
  'a unique value': ({ n }) => `?q[code]=c${n}`,
  'the newest in a folder, expanded': ({ n }) =>
    `?q[folder]=${idOf(1 + (n % 25))}&sort[createdAt]=-1&limit=20&expand=["folder"]`,
  nothing: ({ n }) => `?q[group][$in]=[]&limit=${20 + (n % 3)}`,
  'a group that is none': ({ n }) => `?q[group]=none${n}&sort[at]=1&limit=20`,
  'a later page of a stage': ({ n }) => `?q[stage]=draft&sort[createdAt]=-1&skip=20&limit=${20 + (n % 3)}`,
  'the newest of other groups': ({ group }) => `?q[group][$nin]=["${group}"]&sort[createdAt]=-1&limit=20`,
  'the newest with a holder': ({ n }) => `?q[holder][$exists]=true&sort[createdAt]=-1&limit=${20 + (n % 3)}`,
  'a page with the total': ({ group }) => `?q[group]=${group}&limit=5&total=true`,
  'a document': ({ n }) => `/${idOf(n + 1)}`,
}

/** Reads that look at more rows in a larger collection, with the reason, by rule and read. */
type Exceptions = { readonly [read: string]: string }

const postgres = usePostgres()

const STORAGES: readonly (readonly [name: string, create: () => CountedStorage, exceptions: Exceptions])[] = [
  ['memory', createCountedMemory, {}],
  ['SQLite', createCountedSqlite, {}],
  ['PostgreSQL', () => createCountedPostgres(postgres.url), {}],
]

describe.each(STORAGES)('rows that are looked at, in %s', (_, create, exceptions) => {
  const stores: (CountedStorage & Pick<TestService, 'handler' | 'send'>)[] = []

  beforeAll(async () => {
    for (const size of SIZES) {
      const storage = create()
      const documents = documentsOf(size)
      const stored = {
        seats: seatsOf(size),
        folders: Array.from({ length: size / IN_GROUP }, (_, i) => ({ name: `f${i}` })),
        ...Object.fromEntries(RULE_NAMES.map((name) => [name, documents])),
      }
      const { handler, send } = await openStored(config, stored, {
        adapter: storage.adapter,
        authenticate: () => ({ id: ME }),
      })
      stores.push({ ...storage, handler, send })
    }
  }, 120_000)

  afterAll(async () => {
    for (const { handler, end } of stores) {
      await handler.close()
      await end?.()
    }
  })

  const cases = RULE_NAMES.flatMap((rule) =>
    Object.entries(READS).map(([title, write]) => [`${rule}: ${title}`, rule, write] as const),
  )

  test.each(cases)('%s', async (name, rule, write) => {
    const counts: number[] = []
    for (const { countRows, send } of stores) {
      let rows = 0
      for (const draw of DRAWS) {
        const read = async (): Promise<void> => {
          const { status } = await send(`GET /${rule}${write(draw)}`)
          expect([200, 404]).toContain(status)
        }
        rows = Math.max(rows, await countRows(read))
      }
      counts.push(rows)
    }
    const [small = 0, large = 0] = counts
    // An exception that no longer holds has to go.
    if (exceptions[name] === undefined) expect(large).toBeLessThanOrEqual(most(small))
    else expect(large).toBeGreaterThan(most(small))
  })

  test('are counted', async () => {
    const line = 'GET /summed?q[at][$gte]=2020-01-01T00:00:00.000Z&sort[at]=1&limit=20'
    for (const { countRows, send } of stores)
      expect(await countRows(() => send(line))).toBeGreaterThanOrEqual(20)
  })

  test('grow in few reads', () => {
    expect(cases).toHaveLength(27 * RULE_NAMES.length)
    expect(Object.keys(exceptions).filter((name) => !cases.some(([known]) => known === name))).toEqual([])
  })
})

/** Where a reference may lie, as a document holds it. */
const PLACES = {
  top: (id: string) => ({ top: id }),
  object: (id: string) => ({ object: { in: { of: id } } }),
  array: (id: string) => ({ array: [id, id] }),
  'objects of an array': (id: string) => ({ objects: [{ n: 1 }, { in: { of: id } }] }),
}

type OnDelete = 'restrict' | 'cascade' | 'unset'

const referringSchema = (collection: string, onDelete: OnDelete) => {
  const reference = { type: 'reference', collection, onDelete }
  const inside = { in: { type: 'object', properties: { of: reference } }, n: { type: 'integer' } }
  return {
    top: reference,
    object: { type: 'object', properties: inside },
    array: { type: 'array', items: reference },
    objects: { type: 'array', items: { type: 'object', properties: inside } },
  }
}

const DELETES: readonly (readonly [onDelete: OnDelete, status: number])[] = [
  ['restrict', 409],
  ['cascade', 204],
  ['unset', 204],
]

const referringConfig = {
  collections: Object.fromEntries(
    DELETES.flatMap(([onDelete]) => [
      [
        `of_${onDelete}`,
        { schema: { n: { type: 'integer' } }, permissions: { user: { read: true, delete: true } } },
      ],
      [
        onDelete,
        { schema: referringSchema(`of_${onDelete}`, onDelete), permissions: { user: { read: true } } },
      ],
    ]),
  ),
}

describe.each(STORAGES)('rows that a delete looks at, in %s', (_, create) => {
  const stores: (CountedStorage & Pick<TestService, 'handler' | 'send'>)[] = []
  const places = Object.entries(PLACES)

  beforeAll(async () => {
    for (const size of SIZES) {
      const storage = create()
      // Each place has a fourth of the references; the last documents have none.
      const referring = Array.from(
        { length: size },
        (_, i) => places[i % places.length]?.[1](idOf(i + 1)) ?? {},
      )
      const targets = Array.from({ length: size + 9 }, (_, n) => ({ n }))
      const stored = Object.fromEntries(
        DELETES.flatMap(([onDelete]) => [
          [`of_${onDelete}`, targets],
          [onDelete, referring],
        ]),
      )
      const { handler, send } = await openStored(referringConfig, stored, {
        adapter: storage.adapter,
        authenticate: () => ({ id: ME }),
      })
      stores.push({ ...storage, handler, send })
    }
  }, 120_000)

  afterAll(async () => {
    for (const { handler, end } of stores) {
      await handler.close()
      await end?.()
    }
  })

  /** The rows in the small and in the large collection. */
  const countBoth = (line: (size: number) => string, status: number): Promise<readonly number[]> =>
    Promise.all(
      stores.map(({ countRows, send }, i) =>
        countRows(async () => expect((await send(line(SIZES[i] ?? 0))).status).toBe(status)),
      ),
    )

  test.each(
    DELETES.flatMap(([onDelete, status]) =>
      places.map(([place], i) => [onDelete, place, status, i] as const),
    ),
  )('%s, referred to from: %s', async (onDelete, _, status, i) => {
    const [small = 0, large = 0] = await countBoth(
      () => `DELETE /of_${onDelete}/${idOf(200 + i + 1)}`,
      status,
    )
    expect(large).toBeLessThanOrEqual(most(small))
    // PostgreSQL reads a small collection whole.
    expect(large).toBeLessThan(OF_PERSON)
  })

  test.each(DELETES)('%s, referred to from nowhere', async (onDelete) => {
    const [small = 0, large = 0] = await countBoth((size) => `DELETE /of_${onDelete}/${idOf(size + 5)}`, 204)
    expect(large).toBeLessThanOrEqual(most(small))
    // PostgreSQL reads a small collection whole.
    expect(large).toBeLessThan(OF_PERSON)
  })
})
