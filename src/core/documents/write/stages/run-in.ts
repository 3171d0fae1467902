import type { Sliced, Slices } from '../../../slices.js'
import type { MaybePromise } from '../../../types.js'

/** Runs a generator that yields when its slice is used up. */
export function runIn<T>(slices: Slices, work: Sliced<T>): MaybePromise<T> {
  const { done, value } = work.next()
  return done ? value : runOthers(slices, work)
}

async function runOthers<T>(slices: Slices, work: Sliced<T>): Promise<T> {
  for (;;) {
    await slices.next()
    const { done, value } = work.next()
    if (done) return value
  }
}
