import { expect, test } from 'vitest'
import { checkRules } from '../support/several-rules.js'
import { perRound, rounds } from '../support/tier.js'

// CONTRACT.md §5, "Several rules of one subject", "Writing"

const CONFIGS = rounds(100, 2500)

test('which rule of several runs, and what they show together, is what §5 says, read literally', async () => {
  const { asked, beyondFirst, ordered, cut } = await checkRules(CONFIGS)
  expect(beyondFirst / asked).toBeGreaterThan(0.08)
  expect(ordered / asked).toBeGreaterThan(0.01)
  // What the 65th rule and later ones would change.
  expect(perRound(cut, CONFIGS)).toBeGreaterThan(0.02)
})
