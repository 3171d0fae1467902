import { expect, test } from 'vitest'
import { useStorages } from '../support/storages.js'
import { perRound, rounds } from '../support/tier.js'
import { checkWrites } from '../support/write-laws.js'
import { REQUESTS } from '../support/write-worlds.js'

// CONTRACT.md §5, "No leak"

const RUNS: { readonly [storage: string]: number } = {
  memory: rounds(300),
  SQLite: rounds(40, 120),
  PostgreSQL: rounds(40, 120),
}

test.each(useStorages())(
  'in %s, stores that differ only in what a caller may not read answer the writes of that caller identically',
  async (name, createAdapter) => {
    const runs = RUNS[name] ?? 0
    const seen = await checkWrites(runs, { createAdapter })
    // The pairs must really differ, and little of it be accounted for.
    expect(perRound(seen.pairs, runs)).toBeGreaterThan(0.8)
    expect(perRound(seen.same, runs)).toBeGreaterThan(REQUESTS * 0.9)
    expect(perRound(seen.written, runs)).toBeGreaterThan(REQUESTS * 0.12)
    expect(perRound(seen.batches, runs)).toBeGreaterThan(0.1)
    expect(perRound(seen.strict, runs)).toBeGreaterThan(0)
  },
)
