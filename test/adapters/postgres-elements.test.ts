import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { and, type FieldRef, type Filter, ID, not, or, type Scalar } from '../../src/filter/filter.js'
import { compileFilter } from '../../src/filter/matches.js'
import { compileDocumentOrder } from '../../src/filter/order.js'
import type { CollectionPlan, IndexPlan, SortKey, StorageAdapter, StoredDocument } from '../../src/storage.js'
import { newSchema, usePostgres } from '../support/postgres.js'

// CONTRACT.md §6, "Speed", §7, "Storage", §10, "Starting"

const postgres = usePostgres()
let client: pg.Client
let schema: string
let opened: StorageAdapter[]

beforeAll(async () => {
  client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
})
afterAll(() => client.end())
beforeEach(() => {
  schema = newSchema()
  opened = []
})
afterEach(async () => {
  for (const adapter of opened) await adapter.close()
  await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
})

const connect = (migrate = true): StorageAdapter => {
  const adapter = createPostgresAdapter({ connectionString: postgres.url, schema, migrate })
  opened.push(adapter)
  return adapter
}

const ref = (path: string, type: FieldRef['type'] = 'string'): FieldRef => ({ path, type, each: false })
const each = (path: string, type: FieldRef['type'] = 'string', inside?: string): FieldRef => ({
  path,
  type,
  each: true,
  ...(inside === undefined ? {} : { inside }),
})
const f = {
  team: ref('team'),
  at: ref('at', 'timestamp'),
  n: ref('n', 'integer'),
  tags: each('tags'),
  marks: each('marks', 'number'),
  flags: each('flags', 'boolean'),
  owners: each('parts', 'string', 'owner'),
}
const index = (...fields: readonly FieldRef[]): IndexPlan => ({ fields, unique: false })
const planOf = (...indexes: readonly IndexPlan[]): readonly CollectionPlan[] => [{ name: 'things', indexes }]
const plans = planOf(
  index(f.tags, f.at),
  index(f.tags),
  index(f.team, f.tags, f.n),
  index(f.marks),
  index(f.n, f.flags),
  index(f.owners),
  index(f.team, f.at),
)

const eq = (field: FieldRef, value: Scalar): Filter => ({ kind: 'eq', field, value })
const isOneOf = (field: FieldRef, ...values: readonly Scalar[]): Filter =>
  or(values.map((value) => eq(field, value)))

/** Numbers that look random and are the same each time. */
function createDraw(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1103515245 + 12345) % 2147483648
    return Math.floor((state / 2147483648) * below)
  }
}

type Draw = (below: number) => number
const pick = <T>(draw: Draw, some: readonly T[]): T => some[draw(some.length)] as T
const TAGS = ['a', 'b', 'c', '', 'Ä', "o'x", '\\', '1'] as const

function drawDocument(draw: Draw, id: number): StoredDocument {
  const list = <T>(one: () => T): readonly T[] => Array.from({ length: draw(4) }, one)
  const odd = (): unknown => pick(draw, [null, 1, 'a', { a: 1 }, ['a'], 1.5, true])
  const tag = (): unknown => (draw(8) === 0 ? odd() : pick(draw, TAGS))
  const document: Record<string, unknown> = {
    _id: `id${String(id).padStart(3, '0')}`,
    _version: draw(1000),
    tags: draw(12) === 0 ? odd() : list(tag),
    marks: list(() => (draw(5) === 0 ? odd() : pick(draw, [0, 1, 1.5, -2]))),
    flags: list(() => pick(draw, [true, false, 'true'])),
    parts: list(() => (draw(6) === 0 ? odd() : { owner: draw(6) === 0 ? odd() : pick(draw, TAGS) })),
    team: pick(draw, ['x', 'y', null, 3]),
    at: draw(6) === 0 ? odd() : new Date(Date.UTC(2026, 0, 1 + draw(9))).toISOString(),
    n: draw(6) === 0 ? odd() : draw(4),
  }
  for (const name of ['tags', 'team', 'at', 'n', 'parts']) if (draw(9) === 0) delete document[name]
  return document as StoredDocument
}

function drawCondition(draw: Draw): Filter {
  const tag = (): Scalar => pick(draw, TAGS)
  switch (draw(12)) {
    case 0:
    case 1:
    case 2:
      return eq(f.tags, tag())
    case 3:
      return isOneOf(f.tags, tag(), tag(), tag())
    case 4:
      return eq(f.team, pick(draw, ['x', 'y']))
    case 5:
      return eq(f.owners, tag())
    case 6:
      return isOneOf(f.marks, 0, 1.5)
    case 7:
      return eq(f.flags, draw(2) === 0)
    case 8:
      return {
        kind: pick(draw, ['lt', 'gte', 'gt'] as const),
        field: f.at,
        value: '2026-01-05T00:00:00.000Z',
      }
    case 9:
      return isOneOf(f.n, 0, 2)
    case 10:
      return pick(draw, [
        not(eq(f.tags, tag())),
        not({ kind: 'present', field: f.n }),
        { kind: 'present', field: f.at },
        { kind: 'lt', field: f.tags, value: 'b' },
        eq(ID, `id00${draw(10)}`),
        { kind: 'gt', field: ID, value: 'id030' },
      ] as const)
    default:
      return or([drawCondition(draw), and([drawCondition(draw), drawCondition(draw)])])
  }
}

const SORTS: readonly (readonly SortKey[])[] = [
  [],
  [{ field: ID, descending: false }],
  [
    { field: f.at, descending: true },
    { field: ID, descending: true },
  ],
  [
    { field: f.n, descending: false },
    { field: ID, descending: false },
  ],
  [
    { field: f.team, descending: true },
    { field: f.at, descending: true },
    { field: ID, descending: true },
  ],
]

/** All entries of each table of elements, beside those that the documents have. */
async function expectExact(): Promise<number> {
  const { rows } = await client.query(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = '${schema}'::regnamespace AND relkind = 'r' AND relname LIKE '\\_elements\\_%'`,
  )
  let total = 0
  for (const { name } of rows) {
    const { rows: found } = await client.query(`SELECT * FROM ${schema}."${name}"`)
    const texts = found.map((row) => JSON.stringify(Object.values(row)))
    expect(new Set(texts).size).toBe(texts.length)
    total += texts.length
  }
  return total
}

describe('reads by elements', () => {
  test('give what the filter means, in its order, whatever was written', { timeout: 120_000 }, async () => {
    const draw = createDraw(7)
    const adapter = connect()
    await adapter.open(plans)
    const documents = new Map<string, StoredDocument>()
    for (let round = 0; round < 6; round++) {
      for (let i = 0; i < 40; i++) {
        const document = drawDocument(draw, draw(60))
        const known = documents.get(document._id)
        const step = known
          ? { in: 'things', replace: document, version: known._version }
          : { in: 'things', insert: document }
        expect(await adapter.write([step], {})).toMatchObject({ ok: true })
        documents.set(document._id, document)
      }
      const remove = and([eq(f.tags, pick(draw, TAGS)), eq(f.team, 'x')])
      const doomed = [...documents.values()].filter(compileFilter(remove))
      expect(await adapter.write([{ in: 'things', remove }], {})).toEqual({
        ok: true,
        removed: doomed.length,
      })
      for (const { _id } of doomed) documents.delete(_id)
      await expectExact()
      for (let i = 0; i < 150; i++) {
        const filter = and(Array.from({ length: 1 + draw(3) }, () => drawCondition(draw)))
        const sort = pick(draw, SORTS)
        const skip = draw(3) === 0 ? draw(4) : 0
        const limit = pick(draw, [null, 1, 3, 20])
        const matches = [...documents.values()].filter(compileFilter(filter))
        const note = JSON.stringify({ filter, sort, skip, limit })
        expect(await adapter.count('things', filter, {}), note).toBe(matches.length)
        const query = { filter, sort, skip, limit }
        const found = (await adapter.list('things', query)).map(({ _id }) => _id)
        const refused = await adapter.write([{ in: 'things', refuse: filter }], {})
        expect(refused.ok, note).toBe(matches.length === 0)
        if (sort.length > 0) {
          const order = compileDocumentOrder(sort)
          const wanted = matches
            .sort((a, b) => order(a, b, { left: Number.POSITIVE_INFINITY }))
            .slice(skip, limit === null ? undefined : skip + limit)
          expect(found, note).toEqual(wanted.map(({ _id }) => _id))
        } else {
          expect(new Set(found).size, note).toBe(found.length)
          const most = Math.max(0, matches.length - skip)
          expect(found, note).toHaveLength(limit === null ? most : Math.min(limit, most))
        }
      }
    }
  })
})
