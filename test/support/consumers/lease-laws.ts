import { expect } from 'vitest'
import { ServiceError, type StorageAdapter } from '../../../src/index.js'
import { createFakeTiming } from './fake-timing.js'
import { type ConsumerLaw, createStoppable, whats } from './world.js'

/** The times at which a process of these tests knows for sure that others may have come. */
const [SURE, PATIENCE] = [15_000, 20_000]

/** A storage whose writes can be broken. */
const breakable = (inner: StorageAdapter) => {
  let mode: 'sound' | 'away' | 'unknown' | 'stuck' = 'sound'
  let writes = 0
  return {
    set: (next: typeof mode) => {
      mode = next
    },
    writes: () => writes,
    adapter: {
      ...inner,
      async write(...args) {
        writes += 1
        if (mode === 'stuck') await new Promise(() => {})
        if (mode === 'away') throw new ServiceError('storage_unavailable', 'away')
        const result = await inner.write(...args)
        if (mode === 'unknown') throw new ServiceError('outcome_unknown', 'gone')
        return result
      },
    } satisfies StorageAdapter,
  }
}

/** What holds of the lease of a consumer. */
export const LEASE_LAWS: readonly ConsumerLaw[] = [
  [
    'a process that ends writes nothing more, though a handler never ends, and another one follows',
    async (createWorld) => {
      const timing = createFakeTiming()
      const world = await createWorld(timing)
      const { adapter, writes } = breakable(world.adapter)
      const { end, told } = await world.start('A', () => new Promise(() => {}), { adapter })
      await world.write('a', 1)
      await timing.settle()
      void end()
      const before = writes()
      const second = await world.start('B')
      await timing.advance(PATIENCE + 5000)
      expect([writes(), whats(told), whats(second.told)]).toEqual([before, ['a1'], ['a1']])
      await second.end()
    },
  ],
  [
    'one process at a time is told, in any order of their starts, and the next one at once when it ends',
    async (createWorld) => {
      const timing = createFakeTiming()
      const world = await createWorld(timing)
      const all = [await world.start('A'), await world.start('B'), await world.start('C')]
      const [first, second] = all
      await world.write('a', 1)
      await timing.advance(60_000)
      expect(all.map(({ told }) => whats(told))).toEqual([['a1'], [], []])
      await first?.end()
      await world.write('a', 2)
      await timing.advance(1000)
      expect(all.flatMap(({ told }) => whats(told))).toEqual(['a1', 'a2'])
      await second?.end()
      await world.write('a', 3)
      await timing.advance(1000)
      expect(all.flatMap(({ told }) => whats(told)).sort()).toEqual(['a1', 'a2', 'a3'])
      const leases = all.flatMap(({ told }) => told).sort((a, b) => a.what.localeCompare(b.what))
      expect(leases.map(({ lease }) => lease)).toEqual(leases.map(({ lease }) => lease).sort((a, b) => a - b))
      for (const { end } of all) await end()
    },
  ],

  [
    'one process at a time takes it of those that look at one moment',
    async (createWorld) => {
      const timing = createFakeTiming()
      const world = await createWorld(timing)
      let waiting: (() => void)[] = []
      let isHeldBack = true
      /** All reads are answered together. */
      const together: StorageAdapter = {
        ...world.adapter,
        async list(...args) {
          const listed = await world.adapter.list(...args)
          if (isHeldBack) await new Promise<void>((resolve) => waiting.push(resolve))
          return listed
        },
      }
      const starting = ['A', 'B', 'C', 'D'].map((by) => world.start(by, undefined, { adapter: together }))
      // At first each looks whether there is a record, then who has it.
      for (let looks = 0; looks < 12; looks++) {
        await timing.settle()
        const answered = waiting
        waiting = []
        for (const answer of answered) answer()
      }
      isHeldBack = false
      for (const answer of waiting) answer()
      const all = await Promise.all(starting)
      await world.write('a', 1)
      await timing.advance(5000)
      expect(all.flatMap(({ told }) => whats(told))).toEqual(['a1'])
      for (const { end } of all) await end()
    },
  ],

  [
    'a process that is stopped is followed by another one after 20 seconds, and moves nothing when it goes on',
    async (createWorld) => {
      const timing = createFakeTiming()
      const world = await createWorld(timing)
      const place = createStoppable({ timing, adapter: world.adapter })
      let finish = (): void => {}
      const first = await world.start(
        'A',
        ({ what }) =>
          what === 'a2' &&
          new Promise<void>((resolve) => {
            finish = resolve
          }),
        place,
      )
      const second = await world.start('B')
      await world.write('a', 1)
      await world.write('a', 2)
      await timing.advance(2000)
      place.stop()
      await world.write('a', 3)
      await world.write('b', 1)
      await timing.advance(PATIENCE - 4000)
      expect(second.told).toEqual([])
      await timing.advance(4000)
      expect([...whats(second.told)].sort()).toEqual(['a2', 'a3', 'b1'])
      const before = await world.record()
      expect(first.told.map(({ signal }) => signal.aborted)).toEqual([false, false])
      place.go()
      await timing.advance(2000)
      finish()
      await timing.advance(2000)
      expect(whats(first.told)).toEqual(['a1', 'a2'])
      expect(first.told.map(({ signal }) => signal.aborted)).toEqual([false, true])
      const last = Math.max(...first.told.map(({ lease }) => lease))
      expect(second.told.every(({ lease }) => lease > last)).toBe(true)
      const after = await world.record()
      expect([after.holder, after.position]).toEqual([before.holder, before.position])
      await world.write('a', 4)
      await timing.advance(5000)
      expect([whats(first.told).at(-1), whats(second.told).at(-1)]).toEqual(['a2', 'a4'])
      await first.end()
      await second.end()
    },
  ],

  [
    'a process that is stopped begins with nothing when it wakes, though it has read what there is',
    async (createWorld) => {
      const timing = createFakeTiming()
      const world = await createWorld(timing)
      let isAsleep = false
      let wake = (): void => {}
      const first = await world.start('A', () => {
        if (isAsleep) return undefined
        isAsleep = true
        return new Promise<void>((resolve) => {
          wake = resolve
        })
      })
      await world.write('a', 1)
      await world.write('a', 2)
      await timing.settle()
      // No timer has run when it ends: only a look at the clock tells.
      timing.skip(PATIENCE)
      wake()
      await timing.settle()
      expect(whats(first.told)).toEqual(['a1'])
      await timing.advance(2 * PATIENCE)
      expect(whats(first.told)).toEqual(['a1', 'a1', 'a2'])
      await first.end()
    },
  ],

  [
    'a storage that is away for less than 15 seconds, is forgiven',
    async (createWorld) => {
      const timing = createFakeTiming()
      const world = await createWorld(timing)
      const { adapter, set } = breakable(world.adapter)
      const { told, end } = await world.start('A', undefined, { adapter })
      set('away')
      await timing.advance(SURE - 6000)
      set('sound')
      await timing.advance(60_000)
      await world.write('a', 1)
      await timing.settle()
      expect(told.map(({ signal }) => signal.aborted)).toEqual([false])
      await end()
    },
  ],

  [
    'a storage that is away though a write was made: the holder knows that it was its own',
    async (createWorld) => {
      const timing = createFakeTiming()
      const world = await createWorld(timing)
      const { adapter, set } = breakable(world.adapter)
      const { told, end } = await world.start('A', undefined, { adapter })
      await world.write('a', 1)
      await timing.settle()
      set('unknown')
      await timing.advance(6000)
      set('sound')
      await timing.advance(60_000)
      await world.write('a', 2)
      await timing.settle()
      expect(told.map(({ signal }) => signal.aborted)).toEqual([false, false])
      expect(told[1]?.lease).toBeGreaterThan(told[0]?.lease ?? 0)
      await end()
    },
  ],

  ...(['away', 'stuck'] as const).map(
    (mode): ConsumerLaw => [
      `a storage that is away for longer ends what runs: ${mode}`,
      async (createWorld) => {
        const timing = createFakeTiming()
        const world = await createWorld(timing)
        const { adapter, set } = breakable(world.adapter)
        const { told } = await world.start('A', () => new Promise(() => {}), { adapter })
        await world.write('a', 1)
        await timing.settle()
        set(mode)
        await timing.advance(SURE + 5000)
        expect(told.map(({ signal }) => signal.aborted)).toEqual([true])
        const second = await world.start('B')
        await timing.advance(PATIENCE - 1000)
        expect(whats(second.told)).toEqual([])
        await timing.advance(2000)
        expect(whats(second.told)).toEqual(['a1'])
        await second.end()
      },
    ],
  ),

  [
    'a storage is not asked more often than it has to be',
    async (createWorld) => {
      const timing = createFakeTiming()
      const world = await createWorld(timing)
      const { adapter, writes } = breakable(world.adapter)
      const { end } = await world.start('A', undefined, { adapter })
      const begun = writes()
      await timing.advance(100_000)
      expect(writes() - begun).toBe(20)
      // However many changes there are, how far it is is written once a second.
      for (let n = 1; n <= 100; n++) await world.write('a', n)
      await timing.advance(1000)
      expect(writes() - begun).toBe(21)
      await end()
    },
  ],
]
