import { expect, test } from 'vitest'
import { checkLists } from '../support/laws.js'

test('a list is the slice of the sorted, filtered documents that its caller sees, and nothing else', async () => {
  const { refused, some } = await checkLists(400)
  // The generator must not have missed the point.
  expect(refused).toBeGreaterThan(100)
  expect(some).toBeGreaterThan(150)
}, 60_000)
