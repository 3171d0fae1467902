import { expect, test } from 'vitest'
import { checkNonInterference, RELATED } from '../support/laws.js'
import { useStorages } from '../support/storages.js'

// CONTRACT.md §2, "Expand"; §5, "No leak"

const isLong = process.env.LONG !== undefined

const RUNS: { readonly [storage: string]: number } = {
  memory: isLong ? 600 : 24,
  SQLite: isLong ? 60 : 4,
  PostgreSQL: isLong ? 30 : 3,
}

const storages = useStorages().map(([name, create]) => [name, create, RUNS[name] ?? 0] as const)

test.each(storages)(
  'in %s, stores that differ in what references lead to, where a caller cannot see it, answer that caller identically',
  async (_, create, runs) => {
    const { different, expanded, deep } = await checkNonInterference(runs, undefined, create, RELATED)
    // The pairs must really differ, and references lead on.
    expect(different).toBeGreaterThan(runs / 2)
    expect(expanded).toBeGreaterThan(runs * 2)
    expect(deep).toBeGreaterThan(runs)
  },
)
