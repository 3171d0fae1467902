import { expect, test } from 'vitest'
import { FILLED_WRITES, filled, HOOKED_WRITES } from '../support/hooked-writes.js'
import { useStorages } from '../support/storages.js'
import { perRound, rounds } from '../support/tier.js'
import { checkWrites } from '../support/write-laws.js'
import { REQUESTS } from '../support/write-worlds.js'

// CONTRACT.md §5, "No leak"; §9, "Before a write"

const RUNS: { readonly [storage: string]: number } = {
  memory: rounds(25, 600),
  SQLite: rounds(4, 60),
  PostgreSQL: rounds(3, 60),
}

test.each(useStorages())(
  'in %s, hooks that go by what a caller sees answer the writes of that caller identically, whatever is hidden',
  async (name, createAdapter) => {
    const runs = RUNS[name] ?? 0
    const seen = await checkWrites(runs, { createAdapter }, HOOKED_WRITES)
    expect(perRound(seen.pairs, runs)).toBeGreaterThan(0.7)
    expect(perRound(seen.same, runs)).toBeGreaterThan(REQUESTS * 0.8)
    expect(perRound(seen.written, runs)).toBeGreaterThan(REQUESTS * 0.05)
    expect(perRound(seen.refused, runs)).toBeGreaterThan(0)
  },
)

test.each(useStorages())(
  'in %s, so do hooks that fill required fields, whatever is hidden',
  async (name, createAdapter) => {
    const runs = RUNS[name] ?? 0
    filled.things = 0
    const seen = await checkWrites(runs, { createAdapter }, FILLED_WRITES)
    expect(perRound(seen.pairs, runs)).toBeGreaterThan(0.7)
    expect(perRound(seen.same, runs)).toBeGreaterThan(REQUESTS * 0.8)
    expect(perRound(filled.things, runs)).toBeGreaterThan(0.2)
  },
)
