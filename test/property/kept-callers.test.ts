import { expect, test } from 'vitest'
import { checkHistories, withoutState } from '../support/kept-histories.js'
import { useLastingStorages } from '../support/storages.js'

// CONTRACT.md §5, "Claims"; §2, "Concurrency"

const isLong = process.env.LONG !== undefined

const RUNS: { readonly [storage: string]: number } = {
  memory: isLong ? 200 : 8,
  SQLite: isLong ? 60 : 4,
  PostgreSQL: isLong ? 20 : 2,
}

const storages = useLastingStorages().map(([name, create]) => [name, create, RUNS[name] ?? 0] as const)

test.each(storages)(
  'in %s, whatever is written between two requests, by this process or another, counts for the next one',
  async (_, create, runs) => {
    const changed = await checkHistories(runs, () => {
      const connect = create()
      return { keeping: { adapter: connect() }, reading: { adapter: withoutState(connect()) } }
    })
    expect(changed).toBeGreaterThan(20 * runs)
  },
)
