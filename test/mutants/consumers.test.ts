import { afterEach, describe, expect, test, vi } from 'vitest'
import type * as Queue from '../../src/core/consumers/document-queue.js'
import type * as Lease from '../../src/core/consumers/lease.js'
import type * as Records from '../../src/core/consumers/records.js'
import type * as TellChange from '../../src/core/consumers/tell-change.js'
import { LEASE_LAWS } from '../support/consumers/lease-laws.js'
import { ORDER_LAWS } from '../support/consumers/order-laws.js'
import { worldsOf } from '../support/consumers/world.js'
import { choose } from './choose.js'
import { fails, loadMutant, type Mutant } from './create-mutant.js'

/** Consumers broken on purpose: one of the laws has to notice each. */

const replacing =
  <T extends object>(replace: (real: T) => Partial<T>) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as T
    return { ...real, ...replace(real) }
  }

const withRecords = (
  change: (real: ReturnType<typeof Records.createRecords>) => Partial<typeof real>,
): Mutant[2] =>
  replacing<typeof Records>(({ createRecords }) => ({
    createRecords(...given) {
      const real = createRecords(...given)
      return { ...real, ...change(real) }
    },
  }))

const withQueue = (extend: (Real: typeof Queue.DocumentQueue) => typeof Queue.DocumentQueue): Mutant[2] =>
  replacing<typeof Queue>(({ DocumentQueue }) => ({ DocumentQueue: extend(DocumentQueue) }))

let serial = 0

const mutants: readonly Mutant[] = [
  [
    'the lease is taken without looking at who else has taken it',
    '../../src/core/consumers/records.js',
    withRecords((real) => ({
      async replace(known, next) {
        const { version = 0 } = (await real.read()) ?? {}
        return real.replace({ ...known, version }, next)
      },
    })),
  ],
  [
    'the lease does not grow',
    '../../src/core/consumers/records.js',
    withRecords((real) => ({
      replace: (known, next) => real.replace({ ...known, lease: 0 }, next),
    })),
  ],
  [
    'a holder never doubts that it is the holder',
    '../../src/core/consumers/lease.js',
    replacing<typeof Lease>(({ Lease: Real }) => {
      class Certain extends Real {
        override get isHeld(): boolean {
          return true
        }
      }
      return {
        Lease: Certain,
        async takeLease(options, signal) {
          const { records, timing } = options
          while (!signal.aborted) {
            const since = timing.now()
            const record = await records.read()
            const taken =
              record?.holder === null && (await records.replace(record, { ...record, holder: 'anybody' }))
            if (taken) return new Certain(options, taken, since)
            await timing.sleep(1000, signal)
          }
          return undefined
        },
      }
    }),
  ],
  [
    'the lease is taken from its holder',
    '../../src/core/consumers/records.js',
    withRecords((real) => ({
      async read() {
        const record = await real.read()
        return record && { ...record, holder: null }
      },
    })),
  ],
  [
    'a process that ends keeps the lease',
    '../../src/core/consumers/records.js',
    withRecords((real) => ({
      replace: (known, next) => real.replace(known, { ...next, holder: next.holder ?? known.holder }),
    })),
  ],
  [
    'the changes of a document are handled side by side',
    '../../src/core/consumers/document-queue.js',
    withQueue(
      (Real) =>
        class extends Real {
          override add(queued: Queue.QueuedChange): void {
            super.add({ ...queued, document: `${serial++}` })
          }
        },
    ),
  ],
  [
    'a change counts before it was handled',
    '../../src/core/consumers/document-queue.js',
    withQueue(
      (Real) =>
        class extends Real {
          override get waiting() {
            return []
          }
        },
    ),
  ],
  [
    'a change that could not be handled is forgotten',
    '../../src/core/consumers/document-queue.js',
    withQueue(
      (Real) =>
        class extends Real {
          override putBack(queued: Queue.QueuedChange): void {
            this.finish(queued)
          }
        },
    ),
  ],
  [
    'any number of changes may wait',
    '../../src/core/consumers/document-queue.js',
    withQueue(
      (Real) =>
        class extends Real {
          override get size() {
            return 0
          }
        },
    ),
  ],
  [
    'the attempts of a process before do not count',
    '../../src/core/consumers/document-queue.js',
    withQueue(
      (Real) =>
        class extends Real {
          override get waiting() {
            return super.waiting.map((one) => ({ ...one, attempt: 0 }))
          }
        },
    ),
  ],
  [
    'a consumer begins at the beginning of the log',
    '../../src/core/consumers/records.js',
    replacing<typeof Records>(({ createRecords }) => ({
      createRecords: (store, log, name) =>
        createRecords(store, async (after, query) => ({ ...(await log(after, query)), position: '' }), name),
    })),
  ],
  [
    'all changes of a document have one name',
    '../../src/core/consumers/tell-change.js',
    replacing<typeof TellChange>(() => ({ nameChange: (_, { id }) => id })),
  ],
]

const LAWS = [...LEASE_LAWS, ...ORDER_LAWS]

afterEach(() => void vi.useRealTimers())

const worldsWith = async (mutant: Mutant) => {
  const load = () => import('../../src/core/consumers/create-consumers.js')
  const { createConsumers } = await loadMutant(mutant, load)
  return worldsOf(createConsumers)
}

describe('consumers', () => {
  test.each(choose(mutants))('%s: noticed', async (...mutant) => {
    const createWorld = await worldsWith(mutant)
    let isNoticed = false
    for (const [, check] of LAWS) isNoticed ||= await fails(check(createWorld))
    expect(isNoticed).toBe(true)
  })

  test('the real ones, taken through the same hands, pass', async () => {
    const createWorld = await worldsWith([
      'nothing is broken',
      '../../src/core/consumers/records.js',
      withRecords(() => ({})),
    ])
    for (const [, check] of LAWS) await check(createWorld)
  })
})
