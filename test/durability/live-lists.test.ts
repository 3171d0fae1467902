import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/client.js'
import { createTestService, type TestService } from '../support/service.js'
import { isLong } from '../support/tier.js'
import { until } from '../support/until.js'
import { ADMIN, config, WATCHER } from './support/live-clients.mjs'
import { connect, engines } from './support/stores.js'
import { startWorker, useWorkers } from './support/workers.js'

// CONTRACT.md §7, "The client"; §9, "Standing", "Resuming"

/** Lists that a client keeps by events, while four processes write, one of them is killed, and connections are cut. */

const ROUNDS = isLong ? 30 : 1
const MOMENTS = isLong ? 4 : 1

/** How many writes each of the loops of a process makes before a quiet moment. */
const SHARE = isLong ? 30 : 5
const LOOPS = 2

/** Cuts each stream of changes after some of its parts, as a bad network does; the first one after a few. */
function cutting(target: (request: Request) => Promise<Response>, onCut: () => void) {
  let most = 3
  return async (request: Request): Promise<Response> => {
    const response = await target(request)
    if (!response.body || !new URL(request.url).pathname.endsWith('/changes')) return response
    const reader = response.body.getReader()
    let left = most
    most = 2 + Math.floor(Math.random() * 20)
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) return controller.close()
        controller.enqueue(value)
        left -= 1
        if (left > 0) return
        onCut()
        await reader.cancel()
        controller.error(new TypeError('the connection was lost'))
      },
      cancel: (reason) => reader.cancel(reason),
    })
    return new Response(body, response)
  }
}

const ASKED = [
  {},
  { sort: { n: 'asc' }, limit: 5 },
  { q: { n: { $gte: 2 } }, sort: { s: 'desc' }, limit: 3 },
] as const

/** Keeps a list until the signal aborts. */
function keep(
  { handler }: TestService,
  asked: (typeof ASKED)[number],
  signal: AbortSignal,
  onCut: () => void,
) {
  const target = handler.as(WATCHER)
  const clientOf = (send: (request: Request) => Promise<Response>) =>
    createClient<typeof config>((request: Request) => send(request)).collection('things')
  const live = clientOf(cutting(target, onCut)).live({ ...asked, signal })
  const kept = { text: '', lists: 0 }
  const over = (async () => {
    for await (const list of live) {
      kept.text = JSON.stringify(list)
      kept.lists += 1
    }
  })()
  const fresh = async (): Promise<string> => JSON.stringify(await clientOf(target).list(asked))
  return {
    kept,
    over,
    settle: () => until(async () => kept.text === (await fresh()), JSON.stringify(asked), 60),
  }
}

describe.each(engines)('while four processes write, %s', (_, useStores) => {
  const stores = useStores()
  const workers = useWorkers(3)

  test('each list equals a fresh one after every quiet moment, though one is killed and connections are cut', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const store = stores.create()
      const service = createTestService(config, { adapter: connect(store) })
      const { handler } = service
      await handler.ready()
      const controller = new AbortController()
      let cuts = 0
      const lists = ASKED.map((asked) => keep(service, asked, controller.signal, () => cuts++))
      for (let moment = 0; moment < MOMENTS; moment++) {
        const victim = startWorker()
        for (const worker of [...workers, victim])
          worker.begin('writeLive', { store, loops: LOOPS, share: worker === victim ? 1e9 : SHARE })
        for (let made = 0; made < SHARE; made++) await victim.printed(/^made /)
        await victim.kill()
        for (const worker of workers) await worker.finish()
        for (const list of lists) await list.settle()
      }
      // A last write, by which everything before has been told.
      const admin = createClient<typeof config>((request: Request) => handler.as(ADMIN)(request))
      await admin.collection('memberships').create({ user: 'watcher', team: 'red' })
      await admin.collection('things').create({ team: 'red', s: 'last', n: 4 })
      for (const list of lists) await list.settle()
      expect(lists[0]?.kept.text).toContain('last')
      expect(cuts).toBeGreaterThan(0)
      expect(Math.min(...lists.map(({ kept }) => kept.lists))).toBeGreaterThan(2)
      controller.abort()
      await Promise.all(lists.map(({ over }) => over))
      await handler.close()
    }
  })
})
