import { testAdapter } from 'collection-service/testing'
import { afterAll, beforeAll, test, vi } from 'vitest'
import { createArrayAdapter } from '../../examples/custom-adapter.js'

/** A copy of what is JSON, as documents are, sooner made: the kit lists them a hundred thousand times. */
function copyJson(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyJson)
  return Object.fromEntries(Object.entries(value).map(([name, held]) => [name, copyJson(held)]))
}

beforeAll(() => void vi.stubGlobal('structuredClone', copyJson))
afterAll(() => void vi.unstubAllGlobals())

testAdapter({
  test,
  createStorage: async () => {
    const adapter = createArrayAdapter()
    return { connect: () => adapter }
  },
})
