import type { Timing } from '../../../src/core/consumers/timing.js'

/** Clocks that a test moves. */
export interface FakeTiming extends Timing {
  /** Moves on, and lets everything happen meanwhile. */
  advance(milliseconds: number): Promise<void>
  /** Lets everything happen that does not wait for the clocks. */
  settle(): Promise<void>
  /** Lets time pass while nobody of this process runs, as in one that is stopped. */
  skip(milliseconds: number): void
}

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

const START = Date.now()

/** Creates clocks that stand still. */
export function createFakeTiming(): FakeTiming {
  let time = 0
  const sleepers = new Set<Sleeper>()
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 6; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  return {
    now: () => time,
    today: () => START + time,
    sleep: (milliseconds, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve()
        const wake = (): void => {
          sleepers.delete(sleeper)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        const sleeper = { at: time + milliseconds, wake }
        sleepers.add(sleeper)
        signal.addEventListener('abort', wake)
      }),
    settle,
    async advance(milliseconds) {
      const end = time + milliseconds
      for (;;) {
        await settle()
        const [next] = [...sleepers].sort((a, b) => a.at - b.at)
        if (!next || next.at > end) break
        time = Math.max(time, next.at)
        next.wake()
      }
      time = Math.max(time, end)
      await settle()
    },
    skip(milliseconds) {
      time += milliseconds
    },
  }
}
