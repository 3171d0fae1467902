import { expect, test } from 'vitest'
import { checkHistories, withoutState } from '../support/kept-histories.js'
import { useLastingStorages } from '../support/storages.js'
import { perRound, rounds } from '../support/tier.js'

// CONTRACT.md §5, "Claims"; §2, "Concurrency"

const RUNS: { readonly [storage: string]: number } = {
  memory: rounds(8, 200),
  SQLite: rounds(4, 60),
  PostgreSQL: rounds(2, 20),
}

const storages = useLastingStorages().map(([name, create]) => [name, create, RUNS[name] ?? 0] as const)

test.each(storages)(
  'in %s, whatever is written between two requests, by this process or another, counts for the next one',
  async (_, create, runs) => {
    const changed = await checkHistories(runs, () => {
      const connect = create()
      return { keeping: { adapter: connect() }, reading: { adapter: withoutState(connect()) } }
    })
    expect(perRound(changed, runs)).toBeGreaterThan(20)
  },
)
