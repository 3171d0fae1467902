import { expect, test } from 'vitest'
import { checkBatches } from '../support/batch-laws.js'
import { useStorages } from '../support/storages.js'
import { perRound, rounds } from '../support/tier.js'

// CONTRACT.md §2, "Batch"

const RUNS: { readonly [storage: string]: number } = {
  memory: rounds(90, 1000),
  SQLite: rounds(10, 100),
  PostgreSQL: rounds(8, 100),
}

test.each(useStorages())(
  'in %s, a batch answers and leaves what its operations would one by one, or what the first one refused would',
  async (name, createAdapter) => {
    const runs = RUNS[name] ?? 0
    const seen = await checkBatches(runs, { createAdapter })
    expect(perRound(seen.granted, runs)).toBeGreaterThan(0.3)
    expect(perRound(seen.refused, runs)).toBeGreaterThan(0.3)
  },
)
