import { expect, test } from 'vitest'
import { checkDescriptions } from '../support/described-laws.js'
import { checkTwins } from '../support/described-twins.js'

// CONTRACT.md §8, "OpenAPI": a field that a caller can neither read nor write occurs nowhere

const isLong = process.env.LONG !== undefined

test('a description tells nothing of documents, nor of what its reader can neither read nor write', async () => {
  const runs = isLong ? 5000 : 50
  const { hidden } = await checkDescriptions(runs)
  expect(hidden).toBeGreaterThan(runs / 4)
})

test('services that differ in what a caller may not know describe themselves in the same bytes', async () => {
  const runs = isLong ? 5000 : 60
  const { different } = await checkTwins(runs)
  expect(different).toBeGreaterThan(runs / 2)
})
