import { expect, test } from 'vitest'
import { isLong, isQuick, rounds, seedOf } from '../support/tier.js'
import { CONFIG } from './support/teams.js'
import { search } from './support/teams-search.js'

/**
 * Requests at random by all who have an account, and what each of them does or shows, judged by the rules in plain
 * words. `test/mutants/teams-search.test.ts` shows that they find what is wrong.
 */

const REQUESTS = rounds(400, 20_000)

test(`no way around the rules in ${REQUESTS} requests`, async () => {
  const { violation, done } = await search(CONFIG, seedOf(12), REQUESTS)
  expect(violation).toBeUndefined()
  if (isQuick) return
  // Refusals alone would say nothing.
  expect(Object.values(done).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(REQUESTS / 10)
  if (!isLong) return
  for (const what of ['batch', 'list', 'count', 'PATCH projects']) expect(done).toHaveProperty([what])
})
