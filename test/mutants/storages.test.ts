import { expect, test } from 'vitest'
import type { Ordered } from '../../src/core/filter/compare.js'
import { createMemoryAdapter } from '../../src/index.js'
import { PLAIN } from '../support/laws.js'
import { RELATED_WRITES } from '../support/related-writes.js'
import { checkSameReads, checkSameWrites } from '../support/storage-laws.js'
import type { Building } from '../support/write-laws.js'
import { type ArrayAdapterParts, createArrayAdapter } from './array-adapter.js'
import { choose } from './choose.js'

type Storages = readonly Building[]

const sortedByLength = {
  compareValues: (a: Ordered, b: Ordered): number => String(a).length - String(b).length,
}
const unrefusing = { refuses: (): boolean => false }

type Check = (all: Storages) => Promise<unknown>
type Broken = readonly [what: string, broken: Partial<ArrayAdapterParts>, check: Check]

const mutants: readonly Broken[] = [
  ['sorts by length', sortedByLength, (all: Storages) => checkSameReads(5, PLAIN, all)],
  [
    'refuses nothing that is referred to',
    unrefusing,
    (all: Storages) => checkSameWrites(5, RELATED_WRITES, all),
  ],
]

test.each(choose(mutants, () => '../../src/adapters/'))(
  'a storage that %s is noticed',
  async (_, broken, check) => {
    const memory = { createAdapter: createMemoryAdapter }
    await check([memory, { createAdapter: () => createArrayAdapter() }])
    const other = { createAdapter: () => createArrayAdapter(broken) }
    await expect(check([memory, other])).rejects.toThrow('Counterexample')
  },
)
