import Database from 'better-sqlite3'
import { afterAll, describe, expect, test } from 'vitest'
import type { Statement } from '../../../../src/adapters/sql/dialect.js'
import { structuresOf } from '../../../../src/adapters/sql/structures.js'
import {
  choosePath,
  type PathQuery,
  type ReadPath,
  readIndexesOf,
} from '../../../../src/adapters/sqlite/read/read-path.js'
import {
  countAllStatement,
  countStatement,
  idsStatement,
  walkStatement,
} from '../../../../src/adapters/sqlite/read/read-statements.js'
import { sqliteDialect } from '../../../../src/adapters/sqlite/sqlite-dialect.js'
import { compileDocumentOrder } from '../../../../src/core/filter/compare.js'
import { and, type FieldRef, type Filter, ID, or } from '../../../../src/core/filter/filter.js'
import { matches } from '../../../../src/core/filter/matches.js'
import type { CollectionPlan, StoredDocument } from '../../../../src/core/storage.js'

// CONTRACT.md §6, "Speed"

const ref = (path: string, type: FieldRef['type'] = 'string'): FieldRef => ({ path, type, each: false })
const [TEAM, STATE, DUE, WHO] = [ref('team'), ref('state'), ref('due'), ref('who')]
const is = (field: FieldRef, value: string): Filter => ({ kind: 'eq', field, value })
const among = (field: FieldRef, ...values: readonly string[]): Filter =>
  or(values.map((value) => is(field, value)))
const from = (field: FieldRef, value: string): Filter => ({ kind: 'gte', field, value })

const plan: CollectionPlan = {
  name: 'things',
  indexes: [
    { fields: [TEAM, DUE], unique: false },
    { fields: [TEAM, STATE, DUE], unique: false },
    { fields: [WHO, DUE], unique: false },
    { fields: [WHO], unique: false },
    { fields: [STATE], unique: false },
    { fields: [DUE], unique: false },
  ],
}
const indexes = readIndexesOf(plan)
const database = new Database(':memory:')
for (const { sql } of structuresOf([plan], sqliteDialect)) database.exec(sql.join(';'))
const documents: readonly StoredDocument[] = Array.from({ length: 3000 }, (_, i) => ({
  _id: `id-${String((i * 7919) % 3000).padStart(4, '0')}`,
  _version: 1,
  team: `t${i % 30}`,
  state: i % 2 === 0 ? 'open' : 'done',
  ...(i % 11 === 0 ? {} : { due: `2026-${String((i * 31) % 97).padStart(3, '0')}` }),
  who: `u${i % 70}`,
}))
const insert = database.prepare('INSERT INTO c_things (_id, document) VALUES (?, ?)')
for (const document of documents) insert.run(document._id, JSON.stringify(document))
afterAll(() => database.close())

const planOf = ({ text, values }: Statement): string =>
  database
    .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${text}`)
    .all(...values)
    .map(({ detail }) => detail)
    .join('\n')
const rowsOf = ({ text, values }: Statement): readonly unknown[] =>
  database
    .prepare(text)
    .pluck()
    .all(...values)
const countUpTo = (path: ReadPath, most: number): number =>
  Number(rowsOf(countStatement('things', path, most))[0])
const choose = (query: PathQuery): ReadPath => choosePath(indexes, query, countUpTo)

const by = (field: FieldRef, descending = false) => [field, ID].map((one) => ({ field: one, descending }))
const teams = among(TEAM, 't1', 't2', 't5')
const mine = or([is(TEAM, 't1'), is(TEAM, 't2'), is(WHO, 'u3')])

describe.each<[what: string, query: PathQuery, ranges: number]>([
  ['a list of values', { filter: teams, sort: by(DUE), limit: 20 }, 3],
  ['a list of values, backwards', { filter: teams, sort: by(DUE, true), limit: 20 }, 3],
  ['two lists', { filter: and([teams, among(STATE, 'open', 'done')]), sort: by(DUE), limit: 20 }, 6],
  ['a list and a bound', { filter: and([teams, from(DUE, '2026-050')]), sort: by(DUE), limit: 20 }, 3],
  ['alternatives', { filter: mine, sort: by(DUE), limit: 20 }, 3],
  ['alternatives and a bound', { filter: and([mine, from(DUE, '2026-050')]), sort: by(DUE), limit: 20 }, 3],
  ['alternatives, backwards', { filter: mine, sort: by(DUE, true), limit: 20 }, 3],
  [
    'alternatives by what one of them fixes',
    {
      filter: or([is(TEAM, 't1'), and([is(TEAM, 't2'), is(STATE, 'open')])]),
      sort: [...by(STATE).slice(0, 1), ...by(DUE)],
      limit: 20,
    },
    2,
  ],
  [
    'a list of values, then by another one',
    {
      filter: and([teams, among(STATE, 'open', 'done')]),
      sort: [...by(STATE).slice(0, 1), ...by(DUE)],
      limit: 20,
    },
    6,
  ],
])('%s', (_, query, ranges) => {
  const path = choose(query)
  const order = compileDocumentOrder(query.sort)
  const expected = documents
    .filter((document) => matches(query.filter, document))
    .toSorted((a, b) => order(a, b, { left: Number.POSITIVE_INFINITY }))
    .map(({ _id }) => _id)

  test('is a merge of ranges of indexes, each document once', () => {
    expect(path).toMatchObject({ isOrdered: true, rest: [] })
    expect(path.ranges).toHaveLength(ranges)
    const ids = idsStatement('things', path, { skip: 2, limit: 20 })
    expect(rowsOf(ids)).toEqual(expected.slice(2, 22))
    expect(planOf(ids).match(/SEARCH c_things USING COVERING INDEX/g)).toHaveLength(ranges)
    expect(planOf(ids)).not.toMatch(/SCAN c_|TEMP B-TREE/)
  })

  test('is walked without a look at other documents', () => {
    const walk = walkStatement('things', path, () => ({ conditions: [] }), 'document')
    expect(planOf(walk)).not.toMatch(/SCAN c_|TEMP B-TREE/)
    expect([...new Set(rowsOf(walk).map((text) => JSON.parse(String(text))._id))]).toEqual(expected)
  })

  test('is counted from indexes', () => {
    const { filter } = query
    const counted = choose({ filter, sort: [], limit: null })
    expect(rowsOf(countAllStatement('things', counted))).toEqual([expected.length])
  })
})

test.each([false, true])(
  'a list that is sorted by its own field is in order, backwards: %s',
  (descending) => {
    const sort = [TEAM, DUE, ID].map((field) => ({ field, descending }))
    const path = choose({ filter: teams, sort, limit: 20 })
    expect(path).toMatchObject({ isOrdered: true, rest: [], order: sort })
    expect(planOf(idsStatement('things', path, { skip: 0, limit: 20 }))).not.toMatch(/SCAN c_|TEMP B-TREE/)
    const walk = walkStatement('things', path, () => ({ conditions: [] }), 'document')
    const order = compileDocumentOrder(sort)
    const expected = documents
      .filter((document) => matches(teams, document))
      .toSorted((a, b) => order(a, b, { left: Number.POSITIVE_INFINITY }))
    expect(rowsOf(walk)).toEqual(expected.map((document) => JSON.stringify(document)))
  },
)

test('the rest of the conditions is judged from an index that has its fields', () => {
  const open = is(STATE, 'open')
  const path = {
    ...choose({ filter: and([is(TEAM, 't1'), from(STATE, '')]), sort: [], limit: 5 }),
    rest: [open],
  }
  const walk = walkStatement('things', path, () => ({ conditions: [open] }), 'match')
  expect(planOf(walk)).toMatch(/^SEARCH c_things USING COVERING INDEX/)
  expect(rowsOf(walk).filter((size) => Number(size) < 0)).toHaveLength(
    documents.filter(({ team, state }) => team === 't1' && state === 'open').length,
  )
})

test('of two ranges, the one with few documents is read, with an order or without', () => {
  const filter = and([is(STATE, 'open'), is(WHO, 'u3')])
  for (const sort of [[], by(ID).slice(1), by(STATE)])
    expect(choose({ filter, sort, limit: 20 }).bounds).toContainEqual(is(WHO, 'u3'))
})

test('a list of more values than can be merged is sorted', () => {
  const many = among(TEAM, ...Array.from({ length: 65 }, (_, i) => `t${i}`))
  expect(choose({ filter: many, sort: by(DUE), limit: null })).toMatchObject({ isOrdered: false })
})
