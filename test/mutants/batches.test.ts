import { describe, expect, test } from 'vitest'
import type * as Pending from '../../src/core/batch/pending-writes.js'
import { checkBatches, checkCascade } from '../support/batch-laws.js'
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
            return new Map()
          }
        },
    ),
  ],
  [
    'the last step of a batch is forgotten',
    PENDING,
    breakPending(
      (Real) =>
        class extends Real {
          override get steps() {
            return super.steps.slice(0, -1)
          }
        },
    ),
  ],
  [
    'the operation that a step belongs to is not the one that made it',
    PENDING,
    breakPending(
      (Real) =>
        class extends Real {
          override writeOf(step: number) {
            return super.writeOf(step + 1)
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
    const isFound = (await fails(checkCascade({ create }))) || (await fails(checkBatches(20, { create })))
    expect(isFound || (await fails(checkBatches(300, { create })))).toBe(true)
  })
})
