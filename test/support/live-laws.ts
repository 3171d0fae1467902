import { expect } from 'vitest'
import { createClient } from '../../src/client/client.js'
import { type Caller, createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { createRandom, type Random } from '../../src/tools/testing/adapter/fuzz/random.js'
import { watchLog } from './event-streams.js'
import { createTestService } from './service.js'
import { seedOf } from './tier.js'

/** Texts whose order by code units is another one than by code points. */
const TEXTS = ['', 'a', 'B', 'ab', 'é', '\uffff', '😀', '😁a', '9', '10']

const indexed = { type: 'string', index: true } as const

/** A caller has several rules, one of them by a claim that uses a claim. */
const config = {
  collections: {
    things: {
      changes: true,
      schema: {
        s: { type: 'string' },
        n: { type: 'number' },
        b: { type: 'boolean' },
        o: { type: 'object', properties: { x: { type: 'string' } } },
        h: { type: 'string' },
      },
      permissions: {
        '*': { read: { where: { h: 'shown' } } },
        user: {
          read: [
            { where: { h: { $in: '$user.teams' } } },
            { where: { h: 'big', n: { $gt: 2 } }, omit: ['h'] },
          ],
        },
        admin: true,
      },
    },
    seats: {
      schema: { user: indexed, unit: indexed, team: { type: 'string' } },
      permissions: { admin: true },
    },
  },
  auth: {
    claims: {
      teams: { from: 'seats', where: { unit: { $in: '$user.units' } }, take: 'team' },
      units: { from: 'seats', where: { user: '$user._id' }, take: 'unit' },
    },
  },
} as const

const drawSeat = (random: Random) => ({
  user: random.pick(['ann', 'ben', 'ben']),
  unit: random.pick(['north', 'south']),
  team: random.pick(['red', 'blue']),
})

const drawThing = (random: Random): object => ({
  s: random.pick([null, ...TEXTS]),
  n: random.pick([null, -1, 0, 2.5, 10]),
  b: random.pick([null, true, false]),
  o: random.pick([null, { x: random.pick(TEXTS) }]),
  h: random.pick(['big', 'red', 'blue', 'shown', 'shown', 'shown']),
})

const withoutNulls = (thing: object): object =>
  Object.fromEntries(Object.entries(thing).filter(([, value]) => value !== null))

/** A list at random: an order of up to two keys, a limit or none, a condition or none. */
const drawList = (random: Random) => ({
  sort: Object.fromEntries(
    random
      .sample(['s', 'n', 'b', 'o.x', '_id'], random.integer(0, 2))
      .map((path) => [path, random.pick(['asc', 'desc'] as const)]),
  ),
  ...(random.chance(0.6) ? { limit: random.integer(0, 6) } : {}),
  ...(random.chance(0.4) ? { q: { n: { $gte: 0 } } } : {}),
})

/** The milliseconds after which a list that still differs will not come right any more. */
const MOST_LATE = 30_000

/**
 * A list that a client keeps by events equals a fresh one after every quiet moment (CONTRACT.md §7, "The client").
 * Throws on a counterexample.
 */
export async function checkLiveLists(
  {
    lists,
    writes,
    defaultLimit,
  }: { readonly lists: number; readonly writes: number; readonly defaultLimit?: number },
  createAdapter: () => StorageAdapter = createMemoryAdapter,
): Promise<{
  /** The lists that were shown more than twice. */
  moved: number
  /** The lists in which a claim that uses a claim has shown something. */
  claimed: number
}> {
  const seen = { moved: 0, claimed: 0 }
  const { adapter, begin, quiet } = watchLog(createAdapter())
  const { handler } = createTestService(defaultLimit ? { ...config, limits: { defaultLimit } } : config, {
    adapter,
    authenticate: () => null,
  })
  await handler.ready()
  const clientOf = (caller: Caller | null) => {
    const target = handler.as(caller)
    return createClient<typeof config>((request: Request) => target(request))
  }
  const admin = clientOf({ id: 'admin', roles: ['admin'] })
  const [all, seats] = [admin.collection('things'), admin.collection('seats')]
  const writeSeat = async (random: Random): Promise<void> => {
    const [one] = random.chance(0.6) ? [] : random.sample(await seats.list({ limit: 1000 }), 1)
    if (one) await seats.delete(one._id)
    else await seats.create(drawSeat(random))
  }
  for (let seed = 1; seed <= lists; seed++) {
    const random = createRandom(seedOf(seed))
    const asked = drawList(random)
    const things = clientOf(random.chance(0.3) ? null : { id: 'ann', roles: [] }).collection('things')
    let isClaimed = false
    const kept: (readonly object[])[] = []
    const controller = new AbortController()
    let wake = (): void => {}
    const keeping = (async () => {
      for await (const list of things.live({ ...asked, signal: controller.signal })) {
        kept.push(list)
        wake()
      }
    })()
    while (kept.length === 0) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    await begin()
    for (let i = 0; i < writes; i++) {
      if (random.chance(0.15)) await writeSeat(random)
      const one = random.chance(0.4) ? undefined : random.sample(await all.list({ limit: 1000 }), 1)[0]
      if (!one) await all.create(withoutNulls(drawThing(random)))
      else if (random.chance(0.3)) await all.delete(one._id)
      else await all.update(one._id, drawThing(random))
      if (!random.chance(0.5) && i < writes - 1) continue
      await quiet()
      const fresh = JSON.stringify(await things.list(asked))
      isClaimed ||= /"h":"(?:red|blue)"/.test(fresh)
      // An event, or the list that it made necessary, may still be on its way, from a database with much to do too.
      const until = performance.now() + MOST_LATE
      while (performance.now() < until && JSON.stringify(kept.at(-1)) !== fresh)
        await new Promise((resolve) => setImmediate(resolve))
      expect(JSON.stringify(kept.at(-1)), `list ${seed}, ${JSON.stringify(asked)}`).toBe(fresh)
    }
    if (kept.length > 2) seen.moved += 1
    if (isClaimed) seen.claimed += 1
    controller.abort()
    await keeping
  }
  await handler.close()
  return seen
}
