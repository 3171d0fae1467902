import { expect, test } from 'vitest'
import { checkDescriptions } from '../support/described-laws.js'
import { checkTwins } from '../support/described-twins.js'
import { perRound, rounds } from '../support/tier.js'

// CONTRACT.md §8, "OpenAPI": a field that a caller can neither read nor write occurs nowhere

test('a description tells nothing of documents, nor of what its reader can neither read nor write', async () => {
  const runs = rounds(50, 5000)
  const { hidden } = await checkDescriptions(runs)
  expect(perRound(hidden, runs)).toBeGreaterThan(0.1)
})

test('services that differ in what a caller may not know describe themselves in the same bytes', async () => {
  const runs = rounds(60, 5000)
  const { different } = await checkTwins(runs)
  expect(perRound(different, runs)).toBeGreaterThan(0.25)
})
