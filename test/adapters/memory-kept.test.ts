import { expect, test } from 'vitest'
import { createMemoryAdapter } from '../../src/adapters/memory/memory-adapter.js'
import { everything, type FieldRef, type Filter, ID, isId } from '../../src/core/filter/filter.js'
import type { ListQuery, StorageAdapter, StoredDocument, WriteStep } from '../../src/core/storage.js'
import { createRandom } from '../../src/tools/testing/adapter/fuzz/random.js'
import { createArrayAdapter } from '../mutants/array-adapter.js'
import { loadMutant } from '../mutants/create-mutant.js'
import { useCaches } from '../support/caches.js'
import { seedOf } from '../support/tier.js'

useCaches()

/** Plans of frozen queries, and what they have found, are kept: nobody may be answered with what was there before. */

const N: FieldRef = { path: 'n', type: 'number', each: false }
const plans = [{ name: 'things', indexes: [{ fields: [N], unique: false }] }]
const idOf = (i: number): string => `id-${String(i).padStart(4, '0')}`
const documentOf = (i: number, n: number, version: number): StoredDocument => ({
  _id: idOf(i),
  _version: version,
  n,
})

const FILTERS: readonly Filter[] = [
  everything,
  { kind: 'gt', field: N, value: 4 },
  { kind: 'lte', field: N, value: 4 },
  { kind: 'eq', field: N, value: 3 },
  { kind: 'or', filters: [1, 5].map((value) => ({ kind: 'eq', field: N, value })) },
  {
    kind: 'or',
    filters: [
      { kind: 'eq', field: N, value: 3 },
      { kind: 'gt', field: N, value: 6 },
    ],
  },
  isId(idOf(3)),
].map((filter) => Object.freeze(filter) as Filter)

const SORTS: readonly ListQuery['sort'][] = [false, true].map((descending) =>
  Object.freeze([N, ID].map((field) => ({ field, descending }))),
)

/** Throws where an adapter answers a query that it has seen before otherwise than plain arrays do. */
async function checkKeptScans(adapter: StorageAdapter): Promise<void> {
  const model = createArrayAdapter()
  for (const storage of [adapter, model]) await storage.open(plans)
  const random = createRandom(seedOf(7))
  const versions = new Map<number, number>()
  for (let round = 0; round < 500; round++) {
    const i = random.integer(0, 14)
    const version = (versions.get(i) ?? 0) + 1
    const step = random.pick<WriteStep>([
      { in: 'things', insert: documentOf(i, random.integer(0, 9), version) },
      { in: 'things', replace: documentOf(i, random.integer(0, 9), version), version: version - 1 },
      { in: 'things', remove: isId(idOf(i)) },
    ])
    const result = await adapter.write([step], {})
    expect(await model.write([step], {})).toEqual(result)
    if (result.ok && !('remove' in step)) versions.set(i, version)
    const query = {
      filter: random.pick(FILTERS),
      sort: random.pick(SORTS),
      skip: random.pick([0, 0, 2]),
      limit: random.pick([1, 5, null]),
    }
    for (let times = 0; times < 2; times++)
      expect(await adapter.list('things', query)).toEqual(await model.list('things', query))
    expect(await adapter.count('things', query.filter, {})).toBe(
      await model.count('things', query.filter, {}),
    )
  }
}

test('a query that comes again is answered by what is there', () => checkKeptScans(createMemoryAdapter()))

test('what a plan has found is noticed when it outlives a write', async () => {
  const keepForEver = <Scan>(plan: () => Scan): (() => Scan) => {
    let scan: Scan | undefined
    return () => {
      scan ??= plan()
      return scan
    }
  }
  const { createMemoryAdapter: createBroken } = await loadMutant(
    [
      'scans are kept for ever',
      '../../src/adapters/memory/plan/plan-scan.js',
      async () => ({ createKeptScans: () => keepForEver }),
    ],
    () => import('../../src/adapters/memory/memory-adapter.js'),
  )
  await expect(checkKeptScans(createBroken())).rejects.toThrow()
})
