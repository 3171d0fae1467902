import { expect, test } from 'vitest'
import { checkHistories } from '../support/change-laws.js'
import { useStorages } from '../support/storages.js'

// CONTRACT.md §9, "What events tell"

const isLong = process.env.LONG !== undefined

const RUNS: { readonly [storage: string]: number } = {
  memory: isLong ? 10_000 : 285,
  SQLite: isLong ? 100 : 10,
  PostgreSQL: isLong ? 100 : 5,
}

const storages = useStorages()

test.each(storages)(
  'in %s, histories that show a caller the same lists give that caller the same events',
  async (name, createAdapter) => {
    const pairs = RUNS[name] ?? 0
    const { different, events } = await checkHistories({ pairs, writes: 50 }, { createAdapter })
    // The pairs must really differ, and everything be told.
    expect(different).toBeGreaterThan(pairs * 0.9)
    for (const name of ['reset', 'enter', 'change', 'leave']) expect(events[name]).toBeGreaterThan(pairs)
    if (pairs > 20) expect(events.end).toBeGreaterThan(pairs / 20)
  },
)
