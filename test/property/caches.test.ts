import { expect, test } from 'vitest'
import { type CacheCheck, checkCachedReads, checkCachedWrites } from '../support/cache-laws.js'
import { useCaches } from '../support/caches.js'
import { CLAIMING_WRITES } from '../support/claiming-writes.js'
import { CLAIMING, PLAIN, RELATED } from '../support/laws.js'
import { RELATED_WRITES } from '../support/related-writes.js'
import { useStorages } from '../support/storages.js'
import { perRound, rounds } from '../support/tier.js'
import { writeWorlds } from '../support/write-worlds.js'

// CONTRACT.md §5, "No leak"; §2, "Concurrency"

useCaches()

const RUNS: { readonly [storage: string]: number } = {
  memory: rounds(4, 300),
  SQLite: rounds(4, 60),
  PostgreSQL: rounds(4, 20),
}

const SOURCES = [
  ['of plain fields', PLAIN, { worlds: writeWorlds }],
  ['of what refers to others', RELATED, RELATED_WRITES],
  ['that go by claims', CLAIMING, CLAIMING_WRITES],
] as const

const cases = useStorages().flatMap(([name, createAdapter]) =>
  SOURCES.map((source) => [name, source[0], { createAdapter, runs: RUNS[name] ?? 0, source }] as const),
)

type Case = CacheCheck & { readonly source: (typeof SOURCES)[number] }

test.each(cases)('in %s, reads %s are answered as without caches', async (_, __, check: Case) => {
  const { asked, changed } = await checkCachedReads(check, check.source[1])
  expect(asked).toBeGreaterThan(check.runs * 50)
  expect(perRound(changed, check.runs)).toBeGreaterThan(1)
})

test.each(cases)('in %s, writes %s are answered as without caches', async (_, __, check: Case) => {
  const { asked, written } = await checkCachedWrites(check, check.source[2])
  expect(asked).toBeGreaterThan(check.runs * 10)
  expect(perRound(written, check.runs)).toBeGreaterThan(asked / check.runs / 20)
})
