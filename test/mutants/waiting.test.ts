import { expect, test } from 'vitest'
import type * as Queues from '../../src/core/fair-queue.js'
import type * as Callers from '../../src/core/http/client-address.js'
import { checkFloodOfLogins } from '../support/fairness-laws.js'
import { choose } from './choose.js'
import { fails, loadMutant, type Mutant } from './create-mutant.js'

/** What serves callers in turn, broken on purpose. */

const QUEUE = '../../src/core/fair-queue.js'
const CALLER = '../../src/core/http/client-address.js'

type Break = (real: typeof Queues.FairQueue) => typeof Queues.FairQueue

const brokenQueue = (what: string, broken: Break): Mutant => [
  what,
  QUEUE,
  async (original) => {
    const real = (await original()) as typeof Queues
    return { ...real, FairQueue: broken(real.FairQueue) }
  },
]

const brokenCaller = (what: string, broken: Partial<typeof Callers>): Mutant => [
  what,
  CALLER,
  async (original) => ({ ...((await original()) as object), ...broken }),
]

const mutants: readonly Mutant[] = [
  brokenQueue(
    'requests are served in the order in which they came',
    (Real) =>
      class<T> extends Real<T> {
        override add(entry: T): T | undefined {
          return super.add(entry)
        }
      },
  ),
  brokenQueue(
    'a full queue refuses the newcomer',
    (Real) =>
      class<T> extends Real<T> {
        readonly #most: number
        constructor(most = Number.POSITIVE_INFINITY) {
          super()
          this.#most = most
        }
        override add(entry: T, ...callers: readonly (string | undefined)[]): T | undefined {
          return this.length >= this.#most ? entry : super.add(entry, ...callers)
        }
      },
  ),
  brokenQueue(
    'a queue has no end',
    (Real) =>
      class<T> extends Real<T> {
        constructor(_: number) {
          super()
        }
      },
  ),
  brokenQueue(
    'a newcomer waits until all before have been served',
    (Real) =>
      class<T> extends Real<T> {
        override take(mayGo: (entry: T) => boolean = () => true): T | undefined {
          for (const entry of this) if (mayGo(entry) && this.delete(entry)) return entry
          return undefined
        }
      },
  ),
  brokenCaller('all addresses are one', { nameClient: () => 'client' }),
  brokenCaller('no address is known', { nameClient: () => undefined }),
]

const check = async (mutant: Mutant): Promise<void> => {
  const loaded = await loadMutant(mutant, async () => ({
    ...(await import('../../src/core/create-service.js')),
    ...(await import('../../src/core/accounts/auth/hasher.js')),
  }))
  await checkFloodOfLogins({ create: loaded.createCollectionService, hashing: loaded })
}

test.each(choose(mutants).map((one) => [one[0], one] as const))('%s: found', async (_, mutant) => {
  expect(await fails(check(mutant))).toBe(true)
})

test('what is not broken passes', async () => {
  const unbroken: Mutant = ['nothing', QUEUE, async (original) => (await original()) as object]
  expect(await fails(check(unbroken))).toBe(false)
})
