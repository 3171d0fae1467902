import { describe, expect, test } from 'vitest'
import type * as BatchStores from '../../src/core/batch/batch-store.js'
import type * as Pending from '../../src/core/batch/pending-writes.js'
import type * as Rights from '../../src/core/batch/rights.js'
import { whenReady } from '../../src/core/promises.js'
import type * as Matches from '../../src/core/references/matches.js'
import type { Attempt } from '../../src/core/request/store/attempt.js'
import type { MaybePromise } from '../../src/core/types.js'
import { createMemoryAdapter } from '../../src/index.js'
import { checkBatches, checkCascade } from '../support/batch-laws.js'
import { CLAIMED_BATCH_LAWS } from '../support/claimed-batches.js'
import { createTestService } from '../support/service.js'
import { checkWholeBatches } from '../support/whole-batch-laws.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Batches broken on purpose: what guards the real ones has to notice each of them. */

const PENDING = '../../src/core/batch/pending-writes.js'

const breakPending =
  (break_: (real: typeof Pending.PendingWrites) => typeof Pending.PendingWrites) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as typeof Pending
    return { ...real, PendingWrites: break_(real.PendingWrites) }
  }

const STORE = '../../src/core/batch/batch-store.js'

const breakStore =
  (break_: (real: typeof BatchStores.BatchStore) => typeof BatchStores.BatchStore) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as typeof BatchStores
    return { ...real, BatchStore: break_(real.BatchStore) }
  }

const mutants: readonly Mutant[] = [
  [
    'an operation does not see the documents that the earlier ones wrote',
    PENDING,
    breakPending(
      (Real) =>
        class extends Real {
          override find() {
            return undefined
          }
        },
    ),
  ],
  [
    'an operation does not see what the earlier ones removed',
    PENDING,
    breakPending(
      (Real) =>
        class extends Real {
          override find(collection: string, id: string) {
            return super.find(collection, id) ?? undefined
          }
        },
    ),
  ],
  [
    'a cascade does not see what was written',
    PENDING,
    breakPending(
      (Real) =>
        class extends Real {
          override written() {
            return []
          }
        },
    ),
  ],
  [
    'a cascade finds what was changed as it was before',
    PENDING,
    breakPending(
      (Real) =>
        class extends Real {
          override touched() {
            return new Map<string, never>()
          }
        },
    ),
  ],
  [
    'the last step of a batch is forgotten',
    STORE,
    breakStore(
      (Real) =>
        class extends Real {
          override planSteps() {
            return whenReady(super.planSteps(), ({ steps, left }) => ({ steps: steps.slice(0, -1), left }))
          }
        },
    ),
  ],
  [
    'the conditions of operations are checked too early',
    STORE,
    breakStore(
      (Real) =>
        class extends Real {
          override write<T>(attempt: () => MaybePromise<Attempt<T>>): MaybePromise<T> {
            return whenReady(super.write(attempt), async (done) => {
              const broken = await this.findBroken(this.operation)
              if (broken) throw broken.thrown
              return done
            })
          }
        },
    ),
  ],
  [
    'the operation at fault is not the last one that wrote the document',
    STORE,
    breakStore(
      (Real) =>
        class extends Real {
          override async findBroken(since: number) {
            const broken = await super.findBroken(since)
            return broken && { ...broken, operation: Math.max(broken.operation - 1, 0) }
          }
        },
    ),
  ],
]

test('the real batches, taken through the same hands, pass', async () => {
  const create = await createMutant([
    'nothing is broken',
    PENDING,
    breakPending((Real) => class extends Real {}),
  ])
  await checkBatches(20, { create })
  await checkCascade({ create })
})

describe('batches', () => {
  test.each(choose(mutants))('%s: noticed', async (...mutant) => {
    const create = await createMutant(mutant)
    const isFound =
      (await fails(checkCascade({ create }))) ||
      (await fails(checkBatches(20, { create }))) ||
      (await fails(checkWholeBatches(100, { create, createAdapter: createMemoryAdapter })))
    expect(isFound || (await fails(checkBatches(300, { create })))).toBe(true)
  })
})

const breakFindBroken =
  (break_: (since: number, find: BatchStores.BatchStore['findBroken']) => ReturnType<typeof find>) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as typeof BatchStores
    class BatchStore extends real.BatchStore {
      override findBroken(since: number): ReturnType<BatchStores.BatchStore['findBroken']> {
        return break_(since, (from) => super.findBroken(from))
      }
    }
    return { ...real, BatchStore }
  }

/** Rights and hooks that see what does not match. */
const early: readonly Mutant[] = [
  ['matches are checked only at the end', STORE, breakFindBroken(async () => undefined)],
  [
    'the rights of the caller are not compared',
    '../../src/core/batch/rights.js',
    async (original) => ({ ...((await original()) as object), writeRights: () => '' }),
  ],
  [
    'claims are not compared',
    '../../src/core/batch/rights.js',
    async (original) => {
      const real = (await original()) as typeof Rights
      const writeRights: typeof real.writeRights = (call) => JSON.stringify(call.caller)
      return { ...real, writeRights }
    },
  ],
  [
    'what does not match is rejected whatever the rights',
    '../../src/core/batch/rights.js',
    async (original) => {
      let calls = 0
      return { ...((await original()) as object), writeRights: () => String(calls++) }
    },
  ],
  ['only the last operation is checked', STORE, breakFindBroken((since, find) => find(Math.max(since, 1)))],
  [
    'a hook is called before the match of its document is checked',
    '../../src/core/references/matches.js',
    async (original) => {
      const real = (await original()) as typeof Matches
      const { Call } = await import('../../src/core/request/call.js')
      const judge: NonNullable<typeof real.match.judge> = (draft) => {
        const { hooks: _, ...service } = draft.call.service
        const call = new Call(service, draft.call)
        return real.match.judge?.(Object.create(draft, { call: { value: call } }))
      }
      return { ...real, match: { ...real.match, judge } }
    },
  ],
]

describe('rights and hooks in a batch', () => {
  test.each(choose(early))('%s: noticed', async (...mutant) => {
    const create = await createMutant(mutant)
    let isNoticed = false
    for (const [, check] of CLAIMED_BATCH_LAWS)
      isNoticed ||= await fails(check((config, options) => createTestService(config, { ...options, create })))
    expect(isNoticed).toBe(true)
  })
})
