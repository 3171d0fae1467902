import { expect, test } from 'vitest'
import { useStorages } from '../support/storages.js'
import { checkWrites } from '../support/write-laws.js'
import { REQUESTS } from '../support/write-worlds.js'

// CONTRACT.md §5, "No leak"

const isLong = process.env.LONG !== undefined

const RUNS: { readonly [storage: string]: number } = {
  memory: 300,
  SQLite: isLong ? 120 : 40,
  PostgreSQL: isLong ? 120 : 40,
}

test.each(useStorages())(
  'in %s, stores that differ only in what a caller may not read answer the writes of that caller identically',
  async (name, createAdapter) => {
    const runs = RUNS[name] ?? 0
    const seen = await checkWrites(runs, { createAdapter })
    // The pairs must really differ, and little of it be accounted for.
    expect(seen.pairs).toBeGreaterThan(runs * 0.9)
    expect(seen.same).toBeGreaterThan(runs * REQUESTS * 0.9)
    expect(seen.written).toBeGreaterThan(runs * REQUESTS * 0.12)
    expect(seen.batches).toBeGreaterThan(runs * 0.2)
    expect(seen.strict).toBeGreaterThan(runs)
  },
)
