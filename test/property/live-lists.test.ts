import { expect, test } from 'vitest'
import { checkLiveLists } from '../support/live-laws.js'
import { useStorages } from '../support/storages.js'
import { perRound, rounds } from '../support/tier.js'

// CONTRACT.md §7, "The client"

const RUNS: { readonly [storage: string]: number } = {
  memory: rounds(20, 2000),
  SQLite: rounds(4, 100),
  PostgreSQL: rounds(3, 100),
}

test.each(useStorages())(
  'in %s, a list that a client keeps by events equals a fresh one after every quiet moment',
  async (name, createAdapter) => {
    const lists = RUNS[name] ?? 0
    const { moved, claimed } = await checkLiveLists({ lists, writes: 25 }, createAdapter)
    expect(perRound(moved, lists)).toBeGreaterThan(0.25)
    expect(perRound(claimed, lists)).toBeGreaterThan(0.1)
  },
)

test('so it does where the service has a limit of its own, which the list reaches as it grows', async () => {
  const lists = RUNS.memory ?? 0
  const { moved } = await checkLiveLists({ lists, writes: 25, defaultLimit: 4 })
  expect(perRound(moved, lists)).toBeGreaterThan(0.25)
})
