import { expect, vi } from 'vitest'
import { createFakeTiming } from './fake-timing.js'
import { type ConsumerLaw, whats } from './world.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** A promise that a test keeps. */
function defer() {
  let resolve = (): void => {}
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

const byTold =
  (told: readonly { what: string }[]) =>
  (a: string, b: string): number =>
    told.findIndex(({ what }) => what === a) - told.findIndex(({ what }) => what === b)

/** What holds of what a consumer is told, and when. */
export const ORDER_LAWS: readonly ConsumerLaw[] = [
  [
    'is told of what comes behind its first start, in order, with one name for each change',
    async (createWorld) => {
      const timing = createFakeTiming()
      const world = await createWorld(timing)
      await world.write('a', 1)
      const { told, end } = await world.start('A')
      await world.write('a', 2)
      await world.write('b', 1)
      await world.write('a', 3, 'others')
      await world.write('a', null)
      await timing.settle()
      expect(whats(told)).toEqual(['a2', 'b1', 'a-'])
      expect(new Set(told.map(({ id }) => id)).size).toBe(3)
      expect(told.map(({ attempt }) => attempt)).toEqual([1, 1, 1])
      await end()
    },
  ],

  [
    'tries again with growing pauses, and holds up the same document alone',
    async (createWorld) => {
      const timing = createFakeTiming()
      const world = await createWorld(timing)
      const times: number[] = []
      const { told, logged, end } = await world.start('A', ({ what, attempt }) => {
        if (what === 'a1') times.push(timing.now() / 1000)
        if (what === 'a1' && attempt <= 14) throw new Error('not now')
      })
      await world.write('a', 1)
      await world.write('a', 2)
      await world.write('b', 1)
      await timing.settle()
      expect(whats(told)).toEqual(['a1', 'b1'])
      await timing.advance(4 * 3_600_000)
      const pauses = times.map((time, i) => time - (times[i - 1] ?? 0)).slice(1)
      expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600])
      expect(whats(told).at(-1)).toBe('a2')
      expect(new Set(told.filter(({ what }) => what === 'a1').map(({ id }) => id)).size).toBe(1)
      expect(logged).toHaveLength(14)
      await end()
    },
  ],

  [
    'handles ten changes at a time, of different documents',
    async (createWorld) => {
      const timing = createFakeTiming()
      const world = await createWorld(timing)
      const gate = defer()
      let running = 0
      let most = 0
      const { told, end } = await world.start('A', async () => {
        running += 1
        most = Math.max(most, running)
        await gate.promise
        running -= 1
      })
      for (let i = 0; i < 30; i++) await world.write(`${i}`, 1)
      await timing.settle()
      expect([told.length, most]).toEqual([10, 10])
      gate.resolve()
      await timing.settle()
      expect([told.length, most]).toEqual([30, 10])
      await end()
    },
  ],

  [
    'reads no further where 1,000 changes wait, and goes on when there is room',
    async (createWorld) => {
      const timing = createFakeTiming()
      const world = await createWorld(timing)
      let mayPass = false
      const { told, end } = await world.start('A', ({ what }) => {
        if (what.startsWith('a') && !mayPass) throw new Error('not now')
      })
      for (let n = 1; n <= 1000; n++) await world.write('a', n)
      await world.write('b', 1)
      await timing.advance(10_000)
      expect(whats(told)).not.toContain('b1')
      expect((await world.record()).waiting).toHaveLength(1000)
      mayPass = true
      await timing.advance(10_000)
      await timing.settle()
      const all = Array.from({ length: 1000 }, (_, i) => `a${i + 1}`)
      expect(whats(told).filter((what) => what !== 'a1')).toEqual(
        [...all.slice(1, 1000), 'b1'].sort(byTold(told)),
      )
      expect([...new Set(whats(told))].filter((what) => what.startsWith('a'))).toEqual(all)
      await end()
    },
  ],

  [
    'goes on behind what was handled, with the attempts that it has made',
    async (createWorld) => {
      const timing = createFakeTiming()
      const world = await createWorld(timing)
      const fail = ({ what }: { what: string }): void => {
        if (what === 'a1') throw new Error('not now')
      }
      const first = await world.start('A', fail)
      await world.write('a', 1)
      await world.write('a', 2)
      await world.write('b', 1)
      await timing.advance(1000)
      await first.end()
      await world.write('c', 1)
      const second = await world.start('B')
      expect(second.told.map(({ what, attempt }) => [what, attempt]).sort()).toEqual([
        ['a1', 3],
        ['a2', 1],
        ['c1', 1],
      ])
      expect(whats(second.told).indexOf('a1')).toBeLessThan(whats(second.told).indexOf('a2'))
      await second.end()
    },
  ],

  [
    'skips what was not handled for 7 days, and says so',
    async (createWorld) => {
      const timing = createFakeTiming()
      const world = await createWorld(timing)
      vi.useFakeTimers({ toFake: ['Date'], now: timing.today() })
      const sleep = (milliseconds: number): void => {
        timing.skip(milliseconds)
        vi.setSystemTime(timing.today())
      }
      const handle = ({ what }: { what: string }): void => {
        if (what === 'a1') throw new Error('not now')
      }
      const first = await world.start('A', handle)
      await world.write('a', 1)
      await timing.settle()
      await first.end()
      sleep(7 * DAY - HOUR)
      await world.write('a', 2)
      const second = await world.start('B', handle)
      expect(second.told.map(({ what, attempt }) => [what, attempt])).toEqual([['a1', 2]])
      await second.end()
      sleep(2 * HOUR)
      const third = await world.start('C', handle)
      expect(whats(third.told)).toEqual(['a2'])
      expect(third.logged).toMatchObject([
        [expect.any(String), { consumer: 'mail', collection: 'notes', document: 'a' }],
      ])
      await third.end()
      vi.useRealTimers()
    },
  ],

  [
    'begins anew where what waits is no longer at its place',
    async (createWorld) => {
      const timing = createFakeTiming()
      let isOther = false
      const world = await createWorld(timing, (inner) => ({
        ...inner,
        // A copy of the storage that has other changes at the same positions.
        changes: async (after, query) => {
          const page = await inner.changes?.(after, query)
          if (!page) throw new Error('there is no log')
          if (!isOther || query.limit > 1) return page
          isOther = false
          return { ...page, changes: page.changes.map((change) => ({ ...change, id: 'x' })), gap: true }
        },
      }))
      let hasFailed = false
      const { told, end } = await world.start('A', ({ what }) => {
        if (what === 'a1' && !hasFailed) {
          hasFailed = true
          isOther = true
          throw new Error('not now')
        }
      })
      await world.write('a', 1)
      await world.write('b', 1)
      await timing.settle()
      await timing.advance(60_000)
      expect(whats(told).slice(0, 2)).toEqual(['a1', 'b1'])
      expect(whats(told).slice(2).sort()).toEqual(['a1', 'b1'])
      await end()
    },
  ],

  [
    'leaves what it was told of when it ends, and tells its handlers',
    async (createWorld) => {
      const timing = createFakeTiming()
      const world = await createWorld(timing)
      const first = await world.start(
        'A',
        ({ signal }) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('over')))),
      )
      await world.write('a', 1)
      await timing.settle()
      await first.end()
      expect(first.logged).toEqual([])
      const second = await world.start('B')
      expect(second.told.map(({ what, attempt }) => [what, attempt])).toEqual([['a1', 1]])
      await second.end()
    },
  ],
]
