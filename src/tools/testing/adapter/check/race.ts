import type { StorageAdapter, WriteResult, WriteStep } from '../../../../core/storage.js'
import { check, print } from './check.js'

/** The steps of one write. */
export type Write = readonly WriteStep[]

/** Starts all writes at the same time, with the adapters in rotation. */
export const race = (
  adapters: readonly StorageAdapter[],
  writes: readonly Write[],
): Promise<readonly WriteResult[]> =>
  Promise.all(
    writes.map((steps, i) => {
      const adapter = adapters[i % adapters.length]
      if (!adapter) throw new Error('a race needs at least one adapter')
      return adapter.write(steps, {})
    }),
  )

/** Checks that exactly one write succeeded, and that all others failed for this reason. */
export function checkOneWinner(results: readonly WriteResult[], reason: string, what: string): void {
  const winners = results.filter(({ ok }) => ok)
  check(
    winners.length === 1,
    `${what}: ${winners.length} of ${results.length} succeeded, but exactly one must succeed`,
  )
  const odd = results.find((result) => !result.ok && result.reason !== reason)
  check(
    odd === undefined,
    `${what}: a write was rejected with ${print(odd)}, but the reason must be ${print(reason)}`,
  )
}

/** Returns the results of `make(0)`, `make(1)`, … */
export const times = <T>(count: number, make: (i: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, i) => make(i))
