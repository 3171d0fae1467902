import { expect, test } from 'vitest'
import { checkSchemaChanges } from '../support/schema-change-laws.js'
import { useLastingStorages } from '../support/storages.js'
import { perRound, rounds } from '../support/tier.js'

// CONTRACT.md §1, "Stored names", "Fill", "Migrations", §5, "No leak", §7, "Earlier configurations"

const RUNS: { readonly [storage: string]: number } = {
  memory: rounds(60, 2000),
  SQLite: rounds(12, 100),
  PostgreSQL: rounds(6, 50),
}

test.each(useLastingStorages())(
  'in %s, stores that differ only in what a caller may not read answer that caller identically after changes of the configuration',
  async (name, create) => {
    const runs = RUNS[name] ?? 0
    const seen = await checkSchemaChanges(runs, { create })
    expect(perRound(seen.different, runs)).toBeGreaterThan(0.9)
    expect(perRound(seen.started, runs)).toBeGreaterThan(1)
    expect(perRound(Math.min(seen.refused, seen.told, seen.erased), runs)).toBeGreaterThan(0)
  },
)
