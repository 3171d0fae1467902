import { expect, test } from 'vitest'
import { comparePermissions } from '../../src/tools/insight/diff/compare-permissions.js'
import { createRandom } from '../../src/tools/testing/adapter/fuzz/random.js'
import { checkPair } from '../support/insight/check-pair.js'
import { pairOf } from '../support/insight/pairs.js'
import { checkRenamed } from '../support/insight/renamed-pair.js'
import { choose } from './choose.js'
import { fails } from './create-mutant.js'

/** Comparisons broken on purpose: each overlooks something that a configuration says. */

type Compare = typeof comparePermissions

/** Compares two configurations of which a part is cut out, wherever it stands. */
const without =
  (part: string): Compare =>
  (before, after, options) => {
    const cut = (config: unknown): unknown =>
      JSON.parse(JSON.stringify(config, (name, value) => (name === part ? undefined : value)))
    return comparePermissions(cut(before), cut(after), options)
  }

const mutants: readonly (readonly [name: string, compare: Compare])[] = [
  ['owner is skipped', without('owner')],
  ['omit is forgotten', without('omit')],
  ['check is forgotten', without('check')],
  ['stored names are forgotten', without('stored')],
  ['what widens is left out', (...all) => comparePermissions(...all).filter(isNoWidening)],
  [
    'hooks are forgotten',
    (before, after, options) => comparePermissions(before, after, { ...options, hooks: {} }),
  ],
]

const isNoWidening = ({ kind }: ReturnType<Compare>[number]): boolean => kind !== 'widening'

async function checkPairs(compare: Compare): Promise<void> {
  for (let number = 0; number < 30; number++) {
    const random = createRandom(number)
    // Of some, hooks fill what is required.
    const isFilled = number % 2 === 0
    await checkPair(pairOf(number, random), { random, triples: 80, byHandlers: false, isFilled, compare })
    if (number % 10 === 0) await checkRenamed(pairOf(number, random), random, { byHandlers: false, compare })
  }
}

test.each(choose(mutants, () => '../../src/tools/insight/'))('is noticed: %s', async (_, compare) => {
  expect(await fails(checkPairs(compare))).toBe(true)
})

test('and the comparison itself passes', async () => {
  expect(await fails(checkPairs(comparePermissions))).toBe(false)
})
