import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, expect, test } from 'vitest'
import type { Connection } from '../../../../src/adapters/sqlite/connection/connection.js'
import { KeptDocuments, measure } from '../../../../src/adapters/sqlite/read/kept-documents.js'
import { everything } from '../../../../src/core/filter/filter.js'
import { CACHES } from '../../../../src/core/kept/caches.js'
import { createTextStore } from '../../../../src/core/permissions/kept-texts.js'
import { endless } from '../../../../src/core/slices.js'
import { switchCaches } from '../../../support/caches.js'
import { createTestService } from '../../../support/service.js'

// CONTRACT.md §6, "Scheduling"

/** What caches hold stays within 1.5 times their bounds, however many different requests fill them. */

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

const MIB = 2 ** 20

/** The bytes that are in use. */
function use(): number {
  for (let i = 0; i < 3; i++) collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

let restore = (): void => {}
afterEach(() => restore())

const TEXT = { type: 'string' } as const

const config = {
  auth: { claims: { teams: { from: 'members', where: { user: '$user._id' }, take: 'team' } } },
  collections: {
    members: { schema: { user: { ...TEXT, index: true }, team: TEXT }, permissions: { root: true } },
    notes: {
      schema: { text: TEXT, n: { type: 'integer', index: true }, team: TEXT },
      permissions: { '*': { read: { omit: ['team'] } }, user: { read: { where: { team: '$user.team' } } } },
    },
    shared: {
      schema: { team: { ...TEXT, index: true } },
      permissions: { user: { read: { where: { team: { $in: '$user.teams' } } } } },
    },
  },
} as const

const documents = {
  notes: Array.from({ length: 50 }, (_, n) => ({ text: `${n} `.repeat(30), n, team: `t${n}` })),
}

/** A request, and who sends it. */
type Ask = readonly [path: string, caller: { readonly id: string; readonly team?: string } | null]

/** Caches, what they may hold together, and requests of which each fills them with something else. */
const CASES: readonly (readonly [
  names: readonly (keyof typeof CACHES)[],
  bytes: number,
  count: number,
  request: (i: number) => Ask,
])[] = [
  [['accesses', 'parameters', 'queries'], 16 * MIB, 6000, (i) => [`/notes?q[n][$gt]=${i}&limit=1`, null]],
  [['accesses', 'queries', 'pages'], 32 * MIB, 5000, (i) => [`/notes?q[n][$lt]=${i + 50}&limit=20`, null]],
  [['accesses'], 4 * MIB, 1500, (i) => ['/notes?limit=1', { id: `${i}`, team: `team ${i}` }]],
  [['claims', 'accesses'], 10 * MIB, 2000, (i) => ['/shared', { id: `${i % 1000}` }]],
]

test.each(CASES)('%s hold little more than their bounds', async (names, bytes, count, request) => {
  restore = switchCaches(false)
  for (const name of names) CACHES[name].isOn = true
  const members = Array.from({ length: 1000 }, (_, i) => ({ user: `${i}`, team: `team ${i}` }))
  const { handler, send } = createTestService(config, {
    documents: { ...documents, members },
    authenticate: () => null,
  })
  const fill = async (from: number, to: number): Promise<void> => {
    for (let i = from; i < to; i++) {
      const [path, caller] = request(i)
      // What comes once is not kept.
      for (let times = 0; times < 2; times++) await send(`GET ${path}`, { caller })
    }
  }
  await fill(count, count + 20)
  const before = use()
  await fill(0, count)
  const grown = use() - before
  await handler.close()
  expect(grown).toBeLessThan(1.5 * bytes)
  // Something was kept.
  expect(grown).toBeGreaterThan(bytes / 8)
})

test('texts hold little more than their bound', () => {
  restore = switchCaches(true)
  const bytes = 64 * MIB
  const keep = createTextStore()((document) => JSON.stringify(document))
  const before = use()
  const held = Array.from({ length: 60_000 }, (_, i) =>
    Object.freeze({ _id: `${i}`, _version: 1, text: 'x'.repeat(1200) }),
  )
  const own = use() - before
  for (const document of held) keep(document, endless())
  const grown = use() - before - own
  expect(grown).toBeLessThan(1.5 * bytes)
  expect(held).toHaveLength(60_000)
})

test.each([
  ['long texts', 1000, (i: number) => ({ text: `${i}`.padStart(2000, 'x') })],
  [
    'many small values',
    1000,
    (i: number) => ({ list: Array.from({ length: 200 }, (_, n) => ({ n: n + i })) }),
  ],
])('documents of %s hold little more than their bound', (_, count, contentOf) => {
  const bytes = 64 * MIB
  const documents = new KeptDocuments({ first: () => 1 } as unknown as Connection)
  const before = use()
  let sum = 0
  for (let i = 0; sum < 2 * bytes || i < count; i++) {
    const text = JSON.stringify({ _id: `${i}`, _version: 1, ...contentOf(i) })
    const document = JSON.parse(text) as never
    const held = measure(document)
    sum += held
    documents.put('things', { document, size: text.length, held })
  }
  const grown = use() - before
  expect(grown).toBeLessThan(1.5 * bytes)
  documents.forget([{ in: 'things', remove: everything }])
})
