import { expect, test } from 'vitest'
import { checkKept } from '../support/kept-answers.js'
import { useStorages } from '../support/storages.js'

// CONTRACT.md §5, "No leak": what is kept for one request makes no answer to another.

const ROUNDS: { readonly [storage: string]: number } = { memory: 2, SQLite: 1, PostgreSQL: 1 }

const storages = useStorages().map(([name, create]) => [name, create, ROUNDS[name] ?? 1] as const)

test.each(storages)(
  'in %s, a service answers each caller like one that was never asked before',
  async (_, createAdapter, rounds) => {
    const { telling } = await checkKept({ createAdapter, rounds })
    // Most queries tell callers apart.
    expect(telling).toBeGreaterThan(10 * rounds)
  },
)
