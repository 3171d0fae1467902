import { expect, test } from 'vitest'
import { checkLists } from '../support/laws.js'
import { perRound, rounds } from '../support/tier.js'

// CONTRACT.md §3.4, §3.6, §3.7, §3.9

test('a list is the slice of the sorted, filtered documents that its caller sees, and nothing else', async () => {
  const runs = rounds(200, 400)
  const { refused, some } = await checkLists(runs)
  // The generator must not have missed the point.
  expect(perRound(refused, runs)).toBeGreaterThan(0.1)
  expect(perRound(some, runs)).toBeGreaterThan(0.1)
})
