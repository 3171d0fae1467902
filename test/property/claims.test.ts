import { expect, test } from 'vitest'
import { checkBatches } from '../support/batch-laws.js'
import { CLAIMING_BATCHES } from '../support/claim-worlds.js'
import { CLAIMING_WRITES } from '../support/claiming-writes.js'
import { CLAIMING, checkNonInterference } from '../support/laws.js'
import { useStorages } from '../support/storages.js'
import { perRound, rounds } from '../support/tier.js'
import { checkWrites } from '../support/write-laws.js'
import { REQUESTS } from '../support/write-worlds.js'

// CONTRACT.md §5, "Claims" and "No leak"; §2, "Batch"

const RUNS: { readonly [storage: string]: number } = {
  memory: rounds(24, 600),
  SQLite: rounds(4, 60),
  PostgreSQL: rounds(3, 30),
}

const storages = useStorages().map(([name, create]) => [name, create, RUNS[name] ?? 0] as const)

test.each(storages)(
  'in %s, stores that differ in claims, where a caller cannot see it, answer that caller identically',
  async (_, create, runs) => {
    const { different } = await checkNonInterference(runs, undefined, create, CLAIMING)
    // The pairs must really differ.
    expect(perRound(different, runs)).toBeGreaterThan(0.3)
  },
)

test.each(storages)(
  'in %s, a batch that changes what its caller claims answers and leaves what its operations would alone',
  async (_, createAdapter, runs) => {
    const half = Math.ceil(runs / 2)
    const { granted, refused } = await checkBatches(half, { createAdapter }, CLAIMING_BATCHES)
    expect(perRound(granted, half)).toBeGreaterThan(0.2)
    expect(perRound(refused, half)).toBeGreaterThan(0.2)
  },
)

test.each(useStorages())(
  'in %s, stores that differ in claims, where a caller cannot see it, answer the writes of that caller identically',
  async (name, createAdapter) => {
    const runs = RUNS[name] ?? 0
    const seen = await checkWrites(runs, { createAdapter }, CLAIMING_WRITES)
    expect(perRound(seen.pairs, runs)).toBeGreaterThan(0.7)
    expect(perRound(seen.same, runs)).toBeGreaterThan(REQUESTS * 0.8)
    expect(perRound(seen.written, runs)).toBeGreaterThan(REQUESTS * 0.05)
  },
)
