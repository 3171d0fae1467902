import { expect, test } from 'vitest'
import { checkForgedHeaders } from '../support/forged-laws.js'
import { checkLists, checkNonInterference } from '../support/laws.js'
import { SIGNED_IN } from '../support/signed-in-worlds.js'
import { useStorages } from '../support/storages.js'
import { perRound, rounds } from '../support/tier.js'

// CONTRACT.md §3.9, §5, "No leak"

const RUNS: { readonly [storage: string]: number } = {
  memory: rounds(300),
  SQLite: rounds(15, 60),
  PostgreSQL: rounds(8, 30),
}

const storages = useStorages().map(([name, create]) => [name, create, RUNS[name] ?? 0] as const)

test.each(storages)(
  'in %s, stores that differ only in what a caller may not read answer that caller identically',
  async (_, create, runs) => {
    const { different, expanded, hidden, unlinked } = await checkNonInterference(runs, undefined, create)
    // The pairs must really differ.
    expect(perRound(different, runs)).toBeGreaterThan(0.5)
    expect(perRound(Math.min(expanded, hidden, unlinked), runs)).toBeGreaterThan(0)
  },
)

const COOKIE_RUNS: { readonly [storage: string]: number } = {
  memory: rounds(24, 600),
  SQLite: rounds(4, 60),
  PostgreSQL: rounds(3, 30),
}

test.each(storages)(
  'in %s, stores that differ only in what a caller with a cookie may not read answer that caller identically, and pages of other sites whatever their cookie',
  async (name, create) => {
    const runs = COOKIE_RUNS[name] ?? 0
    const { different, expanded } = await checkNonInterference(runs, undefined, create, SIGNED_IN)
    expect(perRound(different, runs)).toBeGreaterThan(0.5)
    expect(perRound(expanded, runs)).toBeGreaterThan(0)
  },
)

test.each(storages.slice(1))(
  'in %s, a list is the slice of the sorted, filtered documents that its caller sees',
  async (_, create, runs) => {
    const { some } = await checkLists(runs, undefined, create)
    expect(perRound(some, runs)).toBeGreaterThan(0.33)
  },
)

test.each(storages)(
  'in %s, headers of proxies that nothing trusts change no answer',
  async (_, create, runs) => {
    const worlds = Math.ceil(runs / 10)
    const { linked, locked } = await checkForgedHeaders(worlds, undefined, create)
    expect(perRound(Math.min(linked, locked), worlds)).toBeGreaterThan(0)
  },
)
