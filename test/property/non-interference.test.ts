import { expect, test } from 'vitest'
import { checkNonInterference } from '../support/laws.js'

test('stores that differ only in what a caller may not read answer that caller identically', async () => {
  const { different, expanded, hidden } = await checkNonInterference(300)
  // The pairs must really differ.
  expect(different).toBeGreaterThan(150)
  expect([expanded, hidden]).toSatisfy((counts: number[]) => counts.every((count) => count > 0))
}, 120_000)
