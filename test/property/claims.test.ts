import { expect, test } from 'vitest'
import { checkBatches } from '../support/batch-laws.js'
import { withWriteClaims } from '../support/claim-worlds.js'
import { CLAIMING_WRITES } from '../support/claiming-writes.js'
import { CLAIMING, checkNonInterference } from '../support/laws.js'
import { useStorages } from '../support/storages.js'
import { checkWrites } from '../support/write-laws.js'
import { REQUESTS } from '../support/write-worlds.js'

// CONTRACT.md §5, "Claims" and "No leak"; §2, "Batch"

const isLong = process.env.LONG !== undefined

const RUNS: { readonly [storage: string]: number } = {
  memory: isLong ? 600 : 24,
  SQLite: isLong ? 60 : 4,
  PostgreSQL: isLong ? 30 : 3,
}

const storages = useStorages().map(([name, create]) => [name, create, RUNS[name] ?? 0] as const)

test.each(storages)(
  'in %s, stores that differ in claims, where a caller cannot see it, answer that caller identically',
  async (_, create, runs) => {
    const { different } = await checkNonInterference(runs, undefined, create, CLAIMING)
    // The pairs must really differ.
    expect(different).toBeGreaterThan(runs / 2)
  },
)

test.each(storages)(
  'in %s, a batch that changes what its caller claims answers and leaves what its operations would alone',
  async (_, createAdapter, runs) => {
    const { granted, refused } = await checkBatches(Math.ceil(runs / 2), { createAdapter }, withWriteClaims)
    // The seed is fixed: both kinds are among the few pairs of a slow storage too.
    expect(granted).toBeGreaterThan(Math.floor(runs / 10))
    expect(refused).toBeGreaterThan(Math.floor(runs / 10))
  },
)

test.each(useStorages())(
  'in %s, stores that differ in claims, where a caller cannot see it, answer the writes of that caller identically',
  async (name, createAdapter) => {
    const runs = RUNS[name] ?? 0
    const seen = await checkWrites(runs, { createAdapter }, CLAIMING_WRITES)
    expect(seen.pairs).toBeGreaterThan(runs * 0.9)
    expect(seen.same).toBeGreaterThan(runs * REQUESTS * 0.9)
    expect(seen.written).toBeGreaterThan(runs * REQUESTS * 0.12)
  },
)
