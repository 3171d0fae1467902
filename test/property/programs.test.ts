import { describe, expect, test } from 'vitest'
import { createMemoryAdapter } from '../../src/index.js'
import { checkAggregates } from '../support/aggregate-laws.js'
import { checkHistories } from '../support/change-laws.js'
import { CLAIMING_WRITES } from '../support/claiming-writes.js'
import { HOOKED_WRITES } from '../support/hooked-writes.js'
import { checkInterleaved, HELD } from '../support/interleaved.js'
import { checkNonInterference, PLAIN, RELATED } from '../support/laws.js'
import { PROGRAM_STORAGES } from '../support/program-storages.js'
import { RELATED_WRITES } from '../support/related-writes.js'
import { checkSameReads, checkSameWrites } from '../support/storage-laws.js'
import { isLong, rounds } from '../support/tier.js'
import { checkWholeBatches } from '../support/whole-batch-laws.js'
import { checkWrites } from '../support/write-laws.js'
import { writeWorlds } from '../support/write-worlds.js'

// CONTRACT.md §7, "Storage": Durable Objects and D1 answer as other storages do, and tell no more

describe.each(PROGRAM_STORAGES)('%s', (_, createAdapter) => {
  test.each([
    ['plain documents', PLAIN],
    ['what references lead to', RELATED],
  ])(
    'stores that differ only in what a caller may not read answer that caller identically: %s',
    async (_, source) => {
      const { different } = await checkNonInterference(rounds(6, 60), undefined, createAdapter, source)
      expect(different).toBeGreaterThan(0)
    },
  )

  test.each([
    ['plain documents', { worlds: writeWorlds }],
    ['what references lead to', RELATED_WRITES],
    ['claims', CLAIMING_WRITES],
    ['hooks', HOOKED_WRITES],
  ])('writes tell no more than they may: %s', async (_, source) => {
    const { same } = await checkWrites(rounds(6, 60), { createAdapter }, source)
    expect(same).toBeGreaterThan(0)
  })

  test('histories that show a caller the same lists give that caller the same events', async () => {
    const { different } = await checkHistories({ pairs: rounds(6, 100), writes: 50 }, { createAdapter })
    expect(different).toBeGreaterThan(0)
  })

  test('aggregates tell nothing of what their caller may not read, and are exact', async () => {
    const { answered } = await checkAggregates(rounds(100, 1000), createAdapter)
    expect(answered).toBeGreaterThan(0)
  })

  test('a batch leaves what its operations leave if conditions are checked at the end', async () => {
    const { granted } = await checkWholeBatches(rounds(60, 5000), { createAdapter })
    expect(granted).toBeGreaterThan(0)
  })

  test.each(Object.entries(HELD).filter(([what]) => isLong || what === 'a PATCH'))(
    '%s is as if nobody had come in between',
    async (_, held) => {
      expect(await checkInterleaved({ createAdapter, hasHooks: false }, held)).toBeGreaterThan(30)
    },
  )
})

const storages = [() => createMemoryAdapter(), ...PROGRAM_STORAGES.map(([, create]) => create)].map(
  (createAdapter) => ({ createAdapter }),
)

test.each([
  ['plain documents', { worlds: writeWorlds }],
  ['what references lead to', RELATED_WRITES],
  ['claims', CLAIMING_WRITES],
])('writes are answered as in memory, and leave the same: %s', async (_, source) => {
  const { asked } = await checkSameWrites(rounds(4, 400), source, storages)
  expect(asked).toBeGreaterThan(0)
})

test.each([
  ['plain documents', PLAIN],
  ['what references lead to', RELATED],
])('reads are answered as in memory: %s', async (_, source) => {
  const { asked } = await checkSameReads(rounds(4, 400), source, storages)
  expect(asked).toBeGreaterThan(0)
})
