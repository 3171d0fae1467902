import { expect, test } from 'vitest'
import { checkThrottle } from '../support/cookie-laws.js'
import { useStorages } from '../support/storages.js'
import { perRound, rounds } from '../support/tier.js'

// CONTRACT.md §4, "Throttle", "Sessions in cookies"

const RUNS: { readonly [storage: string]: number } = {
  memory: rounds(20, 400),
  SQLite: rounds(6, 60),
  PostgreSQL: rounds(3, 20),
}

test.each(useStorages())(
  'in %s, failed logins count the same with and without cookies',
  async (name, create) => {
    const runs = RUNS[name] ?? 0
    const refused = await checkThrottle(runs, undefined, create)
    expect(perRound(refused, runs)).toBeGreaterThan(3)
  },
)
