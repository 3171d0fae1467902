import { expect, test } from 'vitest'
import type { Ordered } from '../../src/filter/compare.js'
import { createMemoryAdapter } from '../../src/index.js'
import { createArrayAdapter } from '../mutants/array-adapter.js'
import { CLAIMING_WRITES } from '../support/claiming-writes.js'
import { FILLED_WRITES, HOOKED_WRITES } from '../support/hooked-writes.js'
import { CLAIMING, type CreateAdapter, PLAIN, RELATED } from '../support/laws.js'
import { RELATED_WRITES } from '../support/related-writes.js'
import { checkSameReads, checkSameWrites } from '../support/storage-laws.js'
import { useStorages } from '../support/storages.js'
import { REQUESTS, writeWorlds } from '../support/write-worlds.js'

// CONTRACT.md §2, §3

const isLong = process.env.LONG !== undefined
type Storages = readonly CreateAdapter[]

const RUNS = isLong ? 400 : 3

const storages = useStorages().map(([, create]) => create)

test.each([
  ['of plain fields', { worlds: writeWorlds }],
  ['of what refers to others', RELATED_WRITES],
  ['that go by claims', CLAIMING_WRITES],
  ['with hooks', HOOKED_WRITES],
  ['with hooks that fill', FILLED_WRITES],
])('writes %s are answered alike by every storage, and leave the same', async (_, source) => {
  const { asked, written } = await checkSameWrites(RUNS, source, storages)
  expect(asked).toBe(RUNS * REQUESTS)
  expect(written).toBeGreaterThan(asked / 20)
})

test.each([
  ['of plain fields', PLAIN],
  ['of what refers to others', RELATED],
  ['that go by claims', CLAIMING],
])('reads %s are answered alike by every storage', async (_, source) => {
  const { asked } = await checkSameReads(RUNS, source, storages)
  expect(asked).toBeGreaterThan(RUNS * 20)
})

const sortedByLength = {
  compareValues: (a: Ordered, b: Ordered): number => String(a).length - String(b).length,
}
const unrefusing = { refuses: (): boolean => false }

test.each([
  ['sorts by length', sortedByLength, (all: Storages) => checkSameReads(5, PLAIN, all)],
  [
    'refuses nothing that is referred to',
    unrefusing,
    (all: Storages) => checkSameWrites(5, RELATED_WRITES, all),
  ],
])('a storage that %s is noticed', async (_, broken, check) => {
  await check([createMemoryAdapter, () => createArrayAdapter()])
  await expect(check([createMemoryAdapter, () => createArrayAdapter(broken)])).rejects.toThrow(
    'Counterexample',
  )
})
