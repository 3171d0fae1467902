import { expect, test } from 'vitest'
import { checkLists, checkNonInterference } from '../support/laws.js'
import { useStorages } from '../support/storages.js'

// CONTRACT.md §3.9, §5, "No leak"

const isLong = process.env.LONG !== undefined

const RUNS: { readonly [storage: string]: number } = {
  memory: 300,
  SQLite: isLong ? 60 : 15,
  PostgreSQL: isLong ? 30 : 8,
}

const storages = useStorages().map(([name, create]) => [name, create, RUNS[name] ?? 0] as const)

test.each(storages)(
  'in %s, stores that differ only in what a caller may not read answer that caller identically',
  async (_, create, runs) => {
    const { different, expanded, hidden, unlinked } = await checkNonInterference(runs, undefined, create)
    // The pairs must really differ.
    expect(different).toBeGreaterThan(runs / 2)
    expect(Math.min(expanded, hidden, unlinked)).toBeGreaterThan(0)
  },
)

test.each(storages.slice(1))(
  'in %s, a list is the slice of the sorted, filtered documents that its caller sees',
  async (_, create, runs) => {
    const { some } = await checkLists(runs, undefined, create)
    expect(some).toBeGreaterThan(runs / 3)
  },
)
