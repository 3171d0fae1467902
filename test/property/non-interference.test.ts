import { expect, test } from 'vitest'
import { checkNonInterference } from '../support/laws.js'

test('stores that differ only in what a caller may not read answer that caller identically', async () => {
  const { different } = await checkNonInterference(300)
  // The pairs must really differ.
  expect(different).toBeGreaterThan(150)
}, 120_000)
