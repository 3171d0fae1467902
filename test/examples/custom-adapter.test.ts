import { testAdapter } from 'collection-service/testing'
import { afterAll, beforeAll, test, vi } from 'vitest'
import { createArrayAdapter } from '../../examples/custom-adapter.js'

// Of what is JSON, as documents are, this is a copy too, and sooner made: the kit lists them a hundred thousand times.
beforeAll(() => void vi.stubGlobal('structuredClone', (value: unknown) => JSON.parse(JSON.stringify(value))))
afterAll(() => void vi.unstubAllGlobals())

testAdapter({
  test,
  createStorage: async () => {
    const adapter = createArrayAdapter()
    return { connect: () => adapter }
  },
})
