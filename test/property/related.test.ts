import { expect, test } from 'vitest'
import { checkNonInterference, RELATED } from '../support/laws.js'
import { RELATED_WRITES } from '../support/related-writes.js'
import { useStorages } from '../support/storages.js'
import { checkWrites } from '../support/write-laws.js'
import { REQUESTS } from '../support/write-worlds.js'

// CONTRACT.md §2, "Expand"; §5, "No leak"

const isLong = process.env.LONG !== undefined

const RUNS: { readonly [storage: string]: number } = {
  memory: isLong ? 600 : 18,
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

const WRITES: { readonly [storage: string]: number } = {
  memory: isLong ? 600 : 25,
  SQLite: isLong ? 60 : 5,
  PostgreSQL: isLong ? 60 : 4,
}

test.each(useStorages())(
  'in %s, writes whose references agree or are unset do what they must, and tell no more than that',
  async (name, createAdapter) => {
    const runs = WRITES[name] ?? 0
    const seen = await checkWrites(runs, { createAdapter }, RELATED_WRITES)
    expect(seen.pairs).toBeGreaterThan(runs * 0.9)
    expect(seen.same).toBeGreaterThan(runs * REQUESTS * 0.7)
    expect(seen.written).toBeGreaterThan(runs * REQUESTS * 0.15)
    expect(seen.batches).toBeGreaterThan(0)
    // What references tell is among what is asked.
    expect(seen.references).toBeGreaterThan(runs)
  },
)
