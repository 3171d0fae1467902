import { expect, test } from 'vitest'
import { checkSchemaChanges } from '../support/schema-change-laws.js'
import { useLastingStorages } from '../support/storages.js'
import { perRound, playUntilSeen, rounds } from '../support/tier.js'

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
    const total = { different: 0, started: 0, refused: 0, told: 0, erased: 0 }
    const rare = ['refused', 'told', 'erased'] as const
    let played = 0
    await playUntilSeen(
      async (part) => {
        const seen = await checkSchemaChanges(runs, { create }, part * runs + 1)
        for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += seen[name]
        played += runs
      },
      () => rare.filter((one) => runs >= 20 && total[one] === 0),
    )
    expect(perRound(total.different, played)).toBeGreaterThan(0.9)
    expect(perRound(total.started, played)).toBeGreaterThan(1)
  },
)
