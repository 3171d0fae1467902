import { describe, expect, test } from 'vitest'
import { checkBatches } from '../support/batch-laws.js'
import { checkHistories, type World } from '../support/change-laws.js'
import { checkNonInterference } from '../support/laws.js'
import { isRich, RICH, RICH_BATCHES, RICH_WRITES } from '../support/rights-worlds.js'
import { useStorages } from '../support/storages.js'
import { perRound, rounds } from '../support/tier.js'
import { checkWrites } from '../support/write-laws.js'
import { REQUESTS } from '../support/write-worlds.js'

// CONTRACT.md §5, "Several rules of one subject", "Claims over claims" and "No leak"; §2, "Batch"; §9, "Hidden changes"

interface Runs {
  readonly reads: number
  readonly writes: number
  readonly batches: number
  readonly histories: number
}

/**
 * The pairs of each law: in each of them, there are several rules of one subject, and claims that use claims. The laws of
 * other files draw them among others.
 */
const RUNS: { readonly [storage: string]: Runs } = {
  memory: {
    reads: rounds(24, 3500),
    writes: rounds(24, 3500),
    batches: rounds(120, 5000),
    histories: rounds(262, 8000),
  },
  SQLite: {
    reads: rounds(8, 350),
    writes: rounds(8, 350),
    batches: rounds(12, 500),
    histories: rounds(24, 800),
  },
  PostgreSQL: {
    reads: rounds(4, 175),
    writes: rounds(4, 175),
    batches: rounds(6, 250),
    histories: rounds(12, 400),
  },
}

const storages = useStorages().map(([name, create]) => [name, create, RUNS[name] ?? expect.fail()] as const)

describe.each(storages)(
  'in %s, where subjects have several rules, and rules go by claims over claims,',
  (_, createAdapter, { reads, writes, batches, histories }) => {
    test('stores that show a caller the same answer that caller identically', async () => {
      const { different } = await checkNonInterference(reads, undefined, createAdapter, RICH)
      // The pairs must really differ.
      expect(perRound(different, reads)).toBeGreaterThan(0.3)
    })

    test('they answer the writes of that caller identically', async () => {
      const seen = await checkWrites(writes, { createAdapter }, RICH_WRITES)
      expect(perRound(seen.pairs, writes)).toBeGreaterThan(0.7)
      expect(perRound(seen.same, writes)).toBeGreaterThan(REQUESTS * 0.8)
      expect(perRound(seen.written, writes)).toBeGreaterThan(REQUESTS * 0.05)
    })

    test('a batch answers and leaves what its operations would alone', async () => {
      const { granted, refused } = await checkBatches(batches, { createAdapter }, RICH_BATCHES)
      expect(perRound(granted, batches)).toBeGreaterThan(0.2)
      expect(perRound(refused, batches)).toBeGreaterThan(0.2)
    })

    test('histories that show a caller the same lists give that caller the same events', async () => {
      const isWanted = ({ isOver, permissions }: World) => isOver && isRich(permissions, 'teams')
      const { different } = await checkHistories(
        { pairs: histories, writes: 20, isWanted },
        { createAdapter },
      )
      expect(perRound(different, histories)).toBeGreaterThan(0.8)
    })
  },
)
