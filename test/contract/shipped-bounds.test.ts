import { describe, expect, test } from 'vitest'
import { bounds } from '../../src/core/bounds.js'
import { createCuttingAdapter } from '../support/cutting-adapter.js'
import { createTestService } from '../support/service.js'
import { closeAfterEach } from '../support/storages.js'
import { idOf, openStored } from '../support/stored.js'

// CONTRACT.md §6, "Scheduling": the sizes of a release, which most tests of large documents make smaller

const opened = closeAfterEach()

const KIB = 1024
const MIB = 1024 * KIB

const text = { type: 'string' }
const things = {
  collections: {
    things: {
      schema: { text, of: { type: 'array', items: { type: 'reference', collection: 'things' } } },
      permissions: { '*': true },
    },
  },
  limits: { documentBytes: 20 * MIB, bodyBytes: 20 * MIB },
}

test('all sizes are those of a release, and cannot be changed', () => {
  expect(bounds).toEqual({
    slice: 200_000,
    firstSlice: 10_000,
    longFirstSlice: 50_000,
    leastSlice: 1000,
    documentSteps: 500,
    longText: 65_536,
    writtenBytes: 16_777_216,
    rememberedBytes: 16_777_216,
    countedBytes: 4_194_304,
    unreadBytes: 16_777_216,
    readBytes: 1_048_576,
    shortCharacters: 1_048_576,
    printedBytes: 524_288,
    writtenCharacters: 262_144,
    sentCharacters: 65_536,
    expandedCharacters: 2_097_152,
    waitingBytes: 1_048_576,
    fewWaitingBytes: 65_536,
    batchBytes: 1_048_576,
    pageBytes: 2_097_152,
    sortedBytes: 16_384,
    scannedBytes: 262_144,
    judgedBytes: 4_194_304,
    groupedBytes: 16_777_216,
    firstCharacters: 1_048_576,
    longWrite: 65_536,
    joinedCharacters: 65_536,
  })
  expect(Object.isFrozen(bounds)).toBe(true)
})

describe('in the sizes of a release', () => {
  test('the documents of one write have 16 MiB together', async () => {
    const { send } = createTestService(things)
    const bulk = (bytes: number) => ({
      body: { documents: ['a', 'b'].map((letter) => ({ text: letter.repeat(bytes) })) },
    })
    expect((await send('POST /things/bulk', bulk(8 * MIB))).status).toBe(413)
    expect((await send('POST /things/bulk', bulk(8 * MIB - 1000))).status).toBe(201)
  })

  test('a batch reads and answers 16 MiB together', async () => {
    const stored = Array.from({ length: 17 }, () => ({ text: 'x'.repeat(900_000) }))
    const { send } = await openStored(things, { things: stored })
    const operations = stored.map((_, i) => ({ method: 'GET', path: `/things/${idOf(i + 1)}` }))
    expect((await send('POST /_batch', { body: { operations: operations.slice(0, 9) } })).status).toBe(200)
    const { status, body } = await send('POST /_batch', { body: { operations } })
    expect([status, body.code, body.operation]).toEqual([413, 'document_too_large', 9])
  })

  test('of a list, and of what is expanded in it, a MiB is read at once, and a part of it sent', async () => {
    const adapter = createCuttingAdapter()
    const COUNT = 24
    const ids = Array.from({ length: COUNT }, (_, i) => idOf(i + 1))
    const stored = ids.map((_, i) => ({
      text: String(i % 10).repeat(250 * KIB),
      ...(i === 0 ? { of: ids } : {}),
    }))
    const service = await openStored(things, { things: stored }, { adapter })
    opened.push(service)
    for (const [path, least] of [
      ['/things', COUNT * 250 * KIB],
      [`/things/${idOf(1)}?expand=["of"]`, COUNT * 250 * KIB],
    ] as const) {
      Object.assign(adapter, { handedOut: 0, most: 0 })
      const response = await service.handler(new Request(encodeURI(`http://service.test${path}`)))
      expect([response.status, response.headers.get('content-length')]).toEqual([200, null])
      let [read, piece, held] = [0, 0, 0]
      for await (const bytes of response.body ?? []) {
        read += bytes.length
        piece = Math.max(piece, bytes.length)
        held = Math.max(held, adapter.handedOut - read)
      }
      expect(read, path).toBeGreaterThan(least)
      expect(adapter.most, path).toBeLessThanOrEqual(MIB)
      expect(adapter.most, path).toBeGreaterThan(MIB / 2)
      expect(piece, path).toBeLessThan(128 * KIB)
      expect(piece, path).toBeGreaterThan(32 * KIB)
      expect(held, path).toBeLessThan(4 * MIB)
    }
  })
})
