import type { StorageAdapter } from '../../../src/index.js'
import { createRandom } from '../../../src/tools/testing/adapter/fuzz/random.js'

/** An adapter over another that takes its time, now more, now less, so that requests come between each other's steps. */
export function createUnsteadyAdapter(inner: StorageAdapter, seed: number): StorageAdapter {
  const random = createRandom(seed)
  const pause = async (): Promise<void> => {
    for (let turns = random.integer(0, 3); turns > 0; turns--)
      await new Promise((resolve) => setImmediate(resolve))
  }
  return {
    ...inner,
    async list(...args) {
      await pause()
      return inner.list(...args)
    },
    async write(...args) {
      await pause()
      return inner.write(...args)
    },
  }
}
