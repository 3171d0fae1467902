import { expect, test } from 'vitest'
import { checkBatches } from '../support/batch-laws.js'
import { useStorages } from '../support/storages.js'

// CONTRACT.md §2, "Batch"

const isLong = process.env.LONG !== undefined

const RUNS: { readonly [storage: string]: number } = {
  memory: isLong ? 1000 : 90,
  SQLite: isLong ? 100 : 10,
  PostgreSQL: isLong ? 100 : 8,
}

test.each(useStorages())(
  'in %s, a batch answers and leaves what its operations would one by one, or what the first one refused would',
  async (name, createAdapter) => {
    const runs = RUNS[name] ?? 0
    const seen = await checkBatches(runs, { createAdapter })
    expect(seen.granted).toBeGreaterThan(runs)
    expect(seen.refused).toBeGreaterThan(runs)
  },
)
