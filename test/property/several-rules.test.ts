import { expect, test } from 'vitest'
import { checkRules } from '../support/several-rules.js'
import { playUntilSeen, rounds } from '../support/tier.js'

// CONTRACT.md §5, "Several rules of one subject", "Writing"

const CONFIGS = rounds(100, 2500)

test('which rule of several runs, and what they show together, is what §5 says, read literally', async () => {
  // What the 65th rule and later ones would change is rare: with some seeds, a part has not one such request.
  let isCut = false
  await playUntilSeen(
    async (part) => {
      const { asked, beyondFirst, ordered, cut } = await checkRules(CONFIGS, undefined, part)
      expect(beyondFirst / asked).toBeGreaterThan(0.08)
      expect(ordered / asked).toBeGreaterThan(0.01)
      isCut ||= cut > 0
    },
    () => (isCut ? [] : ['a request that the 65th rule would change']),
  )
})
