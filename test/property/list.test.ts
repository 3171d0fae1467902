import { expect, test } from 'vitest'
import { checkLists } from '../support/laws.js'

// CONTRACT.md §3.4, §3.6, §3.7, §3.9

const isLong = process.env.LONG !== undefined

test('a list is the slice of the sorted, filtered documents that its caller sees, and nothing else', async () => {
  const { refused, some } = await checkLists(isLong ? 400 : 200)
  // The generator must not have missed the point.
  expect(refused).toBeGreaterThan(50)
  expect(some).toBeGreaterThan(75)
})
