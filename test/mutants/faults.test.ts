import { expect, test } from 'vitest'
import type * as Drafts from '../../src/core/documents/write/draft.js'
import type * as Redact from '../../src/core/documents/write/redact.js'
import { createMemoryAdapter } from '../../src/index.js'
import { checkHiddenFaults, hiddenFaults } from '../support/hidden-faults.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Faults that tell of others which are hidden: what guards the real ones has to notice. */

const DRAFT = '../../src/core/documents/write/draft.js'
const REDACT = '../../src/core/documents/write/redact.js'

type Draft = InstanceType<typeof Drafts.Draft>

const breakDraft =
  (break_: (draft: Draft) => Partial<Draft>) =>
  async (original: () => Promise<unknown>): Promise<object> => {
    const real = (await original()) as typeof Drafts
    return {
      ...real,
      Draft: class extends real.Draft {
        constructor(...args: ConstructorParameters<typeof real.Draft>) {
          super(...args)
          Object.assign(this, break_(this))
        }
      },
    }
  }

const mutants: readonly Mutant[] = [
  ['hidden faults are counted', DRAFT, breakDraft(() => ({ tells: () => true }))],
  [
    'where a hidden fault is, others are left out',
    DRAFT,
    breakDraft((draft) => ({
      rejectFaulty() {
        const judged = Object.getPrototypeOf(draft).rejectFaulty.call(draft)
        return judged?.kind === 'invalid' ? { ...judged, faults: judged.faults.slice(-1) } : judged
      },
    })),
  ],
  [
    'the place inside what is hidden is told',
    REDACT,
    async (original) => {
      const real = (await original()) as typeof Redact
      return {
        ...real,
        faultSeen: (...[reference]: Parameters<typeof real.faultSeen>) =>
          real.faultSeen(reference, { given: {}, isShown: () => true }),
      }
    },
  ],
]

const checkAll = async (mutant: Mutant): Promise<void> => {
  const create = await createMutant(mutant)
  for (const [, one] of hiddenFaults)
    await checkHiddenFaults({ create, createAdapter: createMemoryAdapter }, one)
}

test('the real faults, taken through the same hands, pass', () =>
  checkAll(['nothing is broken', DRAFT, breakDraft(() => ({}))]))

test.each(choose(mutants))('%s: noticed', async (...mutant) => {
  expect(await fails(checkAll(mutant))).toBe(true)
})
