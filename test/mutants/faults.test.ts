import { expect, test } from 'vitest'
import type * as CollectFaults from '../../src/core/documents/write/collect-faults.js'
import type * as Redact from '../../src/core/documents/write/redact.js'
import { createMemoryAdapter } from '../../src/index.js'
import { checkHiddenFaults, hiddenFaults } from '../support/hidden-faults.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Faults that tell of others which are hidden: what guards the real ones has to notice. */

const COLLECT_FAULTS = '../../src/core/documents/write/collect-faults.js'
const REDACT = '../../src/core/documents/write/redact.js'

type FaultCollector = InstanceType<typeof CollectFaults.FaultCollector>

const breakCollector =
  (break_: (collector: FaultCollector) => Partial<FaultCollector>) =>
  async (original: () => Promise<unknown>): Promise<object> => {
    const real = (await original()) as typeof CollectFaults
    return {
      ...real,
      FaultCollector: class extends real.FaultCollector {
        constructor(...args: ConstructorParameters<typeof real.FaultCollector>) {
          super(...args)
          Object.assign(this, break_(this))
        }
      },
    }
  }

const mutants: readonly Mutant[] = [
  ['hidden faults are counted', COLLECT_FAULTS, breakCollector(() => ({ tells: () => true }))],
  [
    'where a hidden fault is, others are left out',
    COLLECT_FAULTS,
    breakCollector(({ judge }) => ({
      judge(told) {
        const judged = judge.call(this, told)
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
  checkAll(['nothing is broken', COLLECT_FAULTS, breakCollector(() => ({}))]))

test.each(choose(mutants))('%s: noticed', async (...mutant) => {
  expect(await fails(checkAll(mutant))).toBe(true)
})
