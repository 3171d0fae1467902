import { expect, test } from 'vitest'
import { checkHistories } from '../support/change-laws.js'
import { useStorages } from '../support/storages.js'
import { perRound, rounds } from '../support/tier.js'

// CONTRACT.md §9, "Hidden changes"

const RUNS: { readonly [storage: string]: number } = {
  memory: rounds(285, 10_000),
  SQLite: rounds(10, 100),
  PostgreSQL: rounds(5, 100),
}

const storages = useStorages()

test.each(storages)(
  'in %s, histories that show a caller the same lists give that caller the same events',
  async (name, createAdapter) => {
    const pairs = RUNS[name] ?? 0
    const { different, events } = await checkHistories({ pairs, writes: 50 }, { createAdapter })
    // The pairs must really differ, and everything be told.
    expect(perRound(different, pairs)).toBeGreaterThan(0.8)
    for (const name of ['reset', 'enter', 'change', 'leave'])
      expect(perRound(events[name] ?? 0, pairs)).toBeGreaterThan(0.5)
    // Few streams end.
    expect(perRound(events.end ?? 0, pairs / 4)).toBeGreaterThan(0.1)
  },
)
