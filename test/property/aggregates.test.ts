import { expect, test } from 'vitest'
import { checkAggregates } from '../support/aggregate-laws.js'
import { useStorages } from '../support/storages.js'
import { perRound, rounds } from '../support/tier.js'

// CONTRACT.md §2, "Aggregates", §5, "No leak"

const PAIRS: { readonly [storage: string]: number } = {
  memory: rounds(1000, 20_000),
  SQLite: rounds(1000),
  PostgreSQL: rounds(1000),
}

test.each(useStorages())(
  'in %s, aggregates tell nothing of what their caller may not read, in any order of documents, and are exact',
  async (name, create) => {
    const pairs = PAIRS[name] ?? 0
    const { different, answered } = await checkAggregates(pairs, create)
    expect(perRound(different, pairs)).toBeGreaterThan(0.8)
    expect(perRound(answered, pairs)).toBeGreaterThan(1)
  },
)
