import { expect, test } from 'vitest'
import { CLAIMING_WRITES } from '../support/claiming-writes.js'
import { FILLED_WRITES, HOOKED_WRITES } from '../support/hooked-writes.js'
import { CLAIMING, PLAIN, RELATED } from '../support/laws.js'
import { RELATED_WRITES } from '../support/related-writes.js'
import { checkSameReads, checkSameWrites } from '../support/storage-laws.js'
import { useStorages } from '../support/storages.js'
import { buildElsewhere } from '../support/stored-elsewhere.js'
import { perRound, rounds } from '../support/tier.js'
import { REQUESTS, writeWorlds } from '../support/write-worlds.js'

// CONTRACT.md §2, §3

const RUNS = rounds(3, 400)

const kinds = useStorages().map(([, createAdapter]) => createAdapter)
/** Each kind of storage, and each once more under other names. */
const storages = [
  ...kinds.map((createAdapter) => ({ createAdapter })),
  ...kinds.map((create) => buildElsewhere(create)),
]

test.each([
  ['of plain fields', { worlds: writeWorlds }],
  ['of what refers to others', RELATED_WRITES],
  ['that go by claims', CLAIMING_WRITES],
  ['with hooks', HOOKED_WRITES],
  ['with hooks that fill', FILLED_WRITES],
])('writes %s are answered alike by every storage, and leave the same', async (_, source) => {
  const { asked, written } = await checkSameWrites(RUNS, source, storages)
  expect(asked).toBe(RUNS * REQUESTS)
  expect(perRound(written, RUNS)).toBeGreaterThan(REQUESTS / 20)
})

test.each([
  ['of plain fields', PLAIN],
  ['of what refers to others', RELATED],
  ['that go by claims', CLAIMING],
])('reads %s are answered alike by every storage', async (_, source) => {
  const { asked } = await checkSameReads(RUNS, source, storages)
  expect(asked).toBeGreaterThan(RUNS * 20)
})
