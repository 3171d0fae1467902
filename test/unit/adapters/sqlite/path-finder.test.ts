import { expect, test } from 'vitest'
import { createPathFinder } from '../../../../src/adapters/sqlite/read/path-finder.js'
import { choosePath, type ReadPath, readIndexesOf } from '../../../../src/adapters/sqlite/read/read-path.js'
import {
  countAllStatement,
  countStatement,
  divide,
  idsStatement,
  pageStatement,
  walkStatement,
} from '../../../../src/adapters/sqlite/read/read-statements.js'
import type { FieldRef, Filter } from '../../../../src/core/filter/filter.js'
import { createRandom } from '../../../../src/tools/testing/adapter/fuzz/random.js'
import { drawQuery } from '../../../../src/tools/testing/adapter/fuzz/random-query.js'
import { drawStore } from '../../../../src/tools/testing/adapter/fuzz/random-store.js'
import { useCaches } from '../../../support/caches.js'
import { seedOf } from '../../../support/tier.js'

useCaches()

const page = { skip: 3, limit: 20, cap: 1024 }

const statementsOn = (path: ReadPath) => [
  ...(path.ranges ? [] : [pageStatement('things', path, page)]),
  walkStatement('things', path, askedOf, 'document'),
  idsStatement('things', path, page),
  countStatement('things', path, 100),
  countAllStatement('things', path),
]

const askedOf = ({ rest }: ReadPath) => ({ conditions: divide(rest).asked })

const asChosen = ({ texts: _, ...path }: ReadPath) => path

test('whatever is asked, a path that is kept is the one that would be chosen, with the same statements', () => {
  let kept = 0
  for (let seed = 1; seed <= 40; seed++) {
    const random = createRandom(seedOf(seed))
    const { fields, indexes: planned } = drawStore(random)
    const indexes = readIndexesOf({ name: 'things', indexes: planned })
    const find = createPathFinder(indexes, () => 0)
    for (let i = 0; i < 30; i++) {
      const query = drawQuery(random, { fields, documents: [] })
      const chosen = choosePath(indexes, query, () => 0)
      // The second time, its texts are there.
      for (const path of [find(query), find(query)]) {
        expect(asChosen(path)).toEqual(chosen)
        expect(statementsOn(path)).toEqual(statementsOn(chosen))
        if (path.texts) kept += 1
      }
    }
  }
  expect(kept).toBeGreaterThan(500)
})

const N: FieldRef = { path: 'n', type: 'number', each: false }
const M: FieldRef = { path: 'm', type: 'number', each: false }
const indexes = readIndexesOf({ name: 'things', indexes: [{ fields: [N], unique: false }] })
const is = (kind: 'eq' | 'gt', field: FieldRef, value: number): Filter => ({ kind, field, value })

test('values do not make another path', () => {
  const find = createPathFinder(indexes, () => 0)
  const [one, two] = [1, 2].map((value) => find({ filter: is('eq', N, value), sort: [], limit: 1 }))
  expect(one?.texts).toBeDefined()
  expect(two?.texts).toBe(one?.texts)
  expect(two?.bounds).toEqual([is('eq', N, 2)])
})

test.each<[what: string, other: Filter, limit: number | null]>([
  ['a field', is('eq', M, 1), 1],
  ['a comparison', is('gt', N, 1), 1],
  ['a limit', is('eq', N, 1), null],
])('%s makes another path', (_, filter, limit) => {
  const find = createPathFinder(indexes, () => 0)
  const { texts } = find({ filter: is('eq', N, 1), sort: [], limit: 1 })
  expect(find({ filter, sort: [], limit }).texts).not.toBe(texts)
})

test('what is stored decides again for each query, between paths that are kept', () => {
  const stored = [1, 1000, 1]
  const find = createPathFinder(
    readIndexesOf({ name: 'things', indexes: [N, M].map((field) => ({ fields: [field], unique: false })) }),
    () => stored.shift() ?? 0,
  )
  const query = { filter: is('eq', N, 1), sort: [{ field: M, descending: false }], limit: 1 }
  const paths = [find(query), find({ ...query, limit: 2 }), find(query)]
  expect(stored).toEqual([])
  expect(paths.map(({ bounds }) => bounds)).toEqual(
    [query.filter, query.filter, query.filter].map((one) => [one]),
  )
  expect(paths[0]?.texts).toBeDefined()
  expect(paths[2]?.texts).toBe(paths[0]?.texts)
})
