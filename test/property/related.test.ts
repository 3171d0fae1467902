import { expect, test } from 'vitest'
import { checkNonInterference, RELATED } from '../support/laws.js'
import { RELATED_WRITES } from '../support/related-writes.js'
import { useStorages } from '../support/storages.js'
import { perRound, rounds } from '../support/tier.js'
import { checkWrites } from '../support/write-laws.js'
import { REQUESTS } from '../support/write-worlds.js'

// CONTRACT.md §2, "Expand"; §5, "No leak"

const RUNS: { readonly [storage: string]: number } = {
  memory: rounds(18, 600),
  SQLite: rounds(4, 60),
  PostgreSQL: rounds(3, 30),
}

const storages = useStorages().map(([name, create]) => [name, create, RUNS[name] ?? 0] as const)

test.each(storages)(
  'in %s, stores that differ in what references lead to, where a caller cannot see it, answer that caller identically',
  async (_, create, runs) => {
    const { different, expanded, deep } = await checkNonInterference(runs, undefined, create, RELATED)
    // The pairs must really differ, and references lead on.
    expect(perRound(different, runs)).toBeGreaterThan(0.3)
    expect(perRound(expanded, runs)).toBeGreaterThan(2)
    expect(perRound(deep, runs)).toBeGreaterThan(1)
  },
)

const WRITES: { readonly [storage: string]: number } = {
  memory: rounds(25, 600),
  SQLite: rounds(5, 60),
  PostgreSQL: rounds(4, 60),
}

test.each(useStorages())(
  'in %s, writes whose references agree or are unset do what they must, and tell no more than that',
  async (name, createAdapter) => {
    const runs = WRITES[name] ?? 0
    const seen = await checkWrites(runs, { createAdapter }, RELATED_WRITES)
    expect(perRound(seen.pairs, runs)).toBeGreaterThan(0.7)
    expect(perRound(seen.same, runs)).toBeGreaterThan(REQUESTS * 0.5)
    expect(perRound(seen.written, runs)).toBeGreaterThan(REQUESTS * 0.05)
    expect(perRound(seen.batches, runs)).toBeGreaterThan(0)
    // What references tell is among what is asked.
    expect(perRound(seen.references, runs)).toBeGreaterThan(0.2)
  },
)
