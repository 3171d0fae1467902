import { expect, test } from 'vitest'
import { type CacheCheck, checkCachedReads, checkCachedWrites } from '../support/cache-laws.js'
import { useCaches } from '../support/caches.js'
import { CLAIMING_WRITES } from '../support/claiming-writes.js'
import { CLAIMING, PLAIN, RELATED } from '../support/laws.js'
import { RELATED_WRITES } from '../support/related-writes.js'
import { useStorages } from '../support/storages.js'
import { writeWorlds } from '../support/write-worlds.js'

// CONTRACT.md §5, "No leak"; §2, "Concurrency"

useCaches()

const isLong = process.env.LONG !== undefined

const RUNS: { readonly [storage: string]: number } = {
  memory: isLong ? 300 : 4,
  SQLite: isLong ? 60 : 4,
  PostgreSQL: isLong ? 20 : 4,
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
  expect(changed).toBeGreaterThan(check.runs)
})

test.each(cases)('in %s, writes %s are answered as without caches', async (_, __, check: Case) => {
  const { asked, written } = await checkCachedWrites(check, check.source[2])
  expect(asked).toBeGreaterThan(check.runs * 10)
  expect(written).toBeGreaterThan(asked / 20)
})
