import { expect, test } from 'vitest'
import { checkLiveLists } from '../support/live-laws.js'
import { useStorages } from '../support/storages.js'

// CONTRACT.md §7, "The client"

const isLong = process.env.LONG !== undefined

const RUNS: { readonly [storage: string]: number } = {
  memory: isLong ? 2000 : 20,
  SQLite: isLong ? 100 : 4,
  PostgreSQL: isLong ? 100 : 3,
}

test.each(useStorages())(
  'in %s, a list that a client keeps by events equals a fresh one after every quiet moment',
  async (name, createAdapter) => {
    const lists = RUNS[name] ?? 0
    const { moved } = await checkLiveLists({ lists, writes: 25 }, createAdapter)
    expect(moved).toBeGreaterThan(lists / 2)
  },
)

test('so it does where the service has a limit of its own, which the list reaches as it grows', async () => {
  const lists = RUNS.memory ?? 0
  const { moved } = await checkLiveLists({ lists, writes: 25, defaultLimit: 4 })
  expect(moved).toBeGreaterThan(lists / 2)
})
