import { describe, test } from 'vitest'
import { rounds } from '../support/tier.js'
import { config, digestOf, openService, readStore } from './support/service.js'
import { engines } from './support/stores.js'
import { endWorkers, startWorker } from './support/workers.js'

// CONTRACT.md §7, "Storage"

/** The serving process is killed while it writes. */

endWorkers()

const ROUNDS = rounds(5, 50)

/** Creates under way at once: so many may be stored although nobody was told. */
const LOOPS = 8

const delay = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

/** What a process has acknowledged: codes and digests by `_id`. */
function readAcknowledged(
  lines: readonly string[],
): ReadonlyMap<string, { readonly code: string; readonly digest: string }> {
  const acknowledged = lines.filter((line) => line.startsWith('acknowledged '))
  return new Map(
    acknowledged.map((line) => {
      const [, id = '', code = '', digest = ''] = line.split(' ')
      return [id, { code, digest }]
    }),
  )
}

// Side by side: most of the time each waits.
describe.concurrent.each(engines)('%s', (_, useStores) => {
  const stores = useStores()

  test(`keeps what was acknowledged before a kill, ${ROUNDS} times`, { timeout: 240_000 }, async ({
    expect,
  }) => {
    const store = stores.create()
    /** For each round how many documents are there at least, and at most. */
    const bounds: (readonly [least: number, most: number])[] = []
    let next = startWorker()
    for (let round = 0; round < ROUNDS; round++) {
      const worker = next
      next = startWorker()
      worker.begin('create', { config, store, loops: LOOPS, round, name: 'a' })
      // Else it was killed before it did anything.
      await worker.printed(/^acknowledged /)
      await delay(50 + Math.random() * 250)
      await worker.kill()
      const acknowledged = readAcknowledged(worker.lines())

      const service = openService(store)
      const { status, body } = await service.send(`GET /things?q[round]=${round}`)
      expect(status).toBe(200)
      const documents = new Map<string, { code: string; text: string; digest: string; n: number }>(
        body.map((document: { _id: string }) => [document._id, document]),
      )
      for (const [id, { code, digest }] of acknowledged) {
        const found = documents.get(id)
        expect(found, `round ${round}: ${id}`).toMatchObject({ code, digest, round, n: 0 })
      }
      // Those of which nobody was told are whole, too.
      for (const { text, digest } of documents.values()) expect(digestOf(text)).toBe(digest)
      expect(documents.size).toBeGreaterThanOrEqual(acknowledged.size)
      // Each loop may have one under way, and one that was answered but no longer printed. A server of its own may
      // still be at what it was sent before the kill.
      bounds.push([documents.size, acknowledged.size + 2 * LOOPS])
      // The index knows what is stored, and nothing else.
      for (const { code } of [...documents.values()].slice(-LOOPS)) {
        expect(await service.send('POST /things', { code })).toMatchObject({
          status: 409,
          code: 'unique_violation',
        })
      }
      expect((await service.send('POST /things', { code: `after ${round}` })).status).toBe(201)
      await service.handler.close()
    }
    const left = await readStore(store, 'things')
    const found = bounds.map((_, round) => left.filter((document) => document.round === round).length)
    for (const [round, [least, most]] of bounds.entries()) {
      expect(found[round]).toBeGreaterThanOrEqual(least)
      expect(found[round]).toBeLessThanOrEqual(most)
    }
    // Nothing else is there but what each round created behind the kill.
    expect(left).toHaveLength(ROUNDS + found.reduce((sum, count) => sum + count, 0))
  })
})
