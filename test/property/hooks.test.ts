import { expect, test } from 'vitest'
import { FILLED_WRITES, filled, HOOKED_WRITES } from '../support/hooked-writes.js'
import { useStorages } from '../support/storages.js'
import { checkWrites } from '../support/write-laws.js'
import { REQUESTS } from '../support/write-worlds.js'

// CONTRACT.md §5, "No leak"; §9, "Before a write"

const isLong = process.env.LONG !== undefined

const RUNS: { readonly [storage: string]: number } = {
  memory: isLong ? 600 : 25,
  SQLite: isLong ? 60 : 4,
  PostgreSQL: isLong ? 60 : 3,
}

test.each(useStorages())(
  'in %s, hooks that go by what a caller sees answer the writes of that caller identically, whatever is hidden',
  async (name, createAdapter) => {
    const runs = RUNS[name] ?? 0
    const seen = await checkWrites(runs, { createAdapter }, HOOKED_WRITES)
    expect(seen.pairs).toBeGreaterThan(runs * 0.9)
    expect(seen.same).toBeGreaterThan(runs * REQUESTS * 0.9)
    expect(seen.written).toBeGreaterThan(runs * REQUESTS * 0.1)
    expect(seen.refused).toBeGreaterThan(0)
  },
)

test.each(useStorages())(
  'in %s, so do hooks that fill required fields, whatever is hidden',
  async (name, createAdapter) => {
    const runs = RUNS[name] ?? 0
    filled.things = 0
    const seen = await checkWrites(runs, { createAdapter }, FILLED_WRITES)
    expect(seen.pairs).toBeGreaterThan(runs * 0.9)
    expect(seen.same).toBeGreaterThan(runs * REQUESTS * 0.9)
    expect(filled.things).toBeGreaterThan(runs)
  },
)
