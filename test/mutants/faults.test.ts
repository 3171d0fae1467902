import { expect, test } from 'vitest'
import type * as ChooseRule from '../../src/core/documents/write/rules/choose-rule.js'
import type * as Redact from '../../src/core/documents/write/rules/redact.js'
import { createMemoryAdapter } from '../../src/index.js'
import { checkHiddenFaults, hiddenFaults } from '../support/hidden-faults.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Faults that tell of others which are hidden: what guards the real ones has to notice. */

const CHOOSE_RULE = '../../src/core/documents/write/rules/choose-rule.js'
const REDACT = '../../src/core/documents/write/rules/redact.js'

type FaultCollector = InstanceType<typeof ChooseRule.FaultCollector>

const breakCollector =
  (break_: (collector: FaultCollector) => Partial<FaultCollector>) =>
  async (original: () => Promise<unknown>): Promise<object> => {
    const real = (await original()) as typeof ChooseRule
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
  ['hidden faults are counted', CHOOSE_RULE, breakCollector(() => ({ tells: () => true }))],
  [
    'where a hidden fault is, others are left out',
    CHOOSE_RULE,
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
  checkAll(['nothing is broken', CHOOSE_RULE, breakCollector(() => ({}))]))

test.each(choose(mutants))('%s: noticed', async (...mutant) => {
  expect(await fails(checkAll(mutant))).toBe(true)
})
