import { expect, test } from 'vitest'
import { checkRuns } from '../support/run-laws.js'
import { useLastingStorages } from '../support/storages.js'
import { perRound, rounds } from '../support/tier.js'

// CONTRACT.md §7, "Migrating"

const RUNS: { readonly [storage: string]: number } = {
  memory: rounds(80, 800),
  SQLite: rounds(12, 120),
  PostgreSQL: rounds(8, 80),
}

test.each(useLastingStorages())(
  'in %s, a run does what a dry run says, once for each document',
  { timeout: 1_800_000 },
  async (name, create) => {
    const worlds = RUNS[name] ?? 0
    const { runs, changed, failed } = await checkRuns(worlds, create)
    expect(perRound(runs, worlds)).toBeGreaterThan(2)
    expect(perRound(changed, worlds)).toBeGreaterThan(1)
    expect(perRound(failed, worlds)).toBeGreaterThan(0)
  },
)
