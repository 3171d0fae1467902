import { testAdapter } from 'collection-service/testing'
import { test } from 'vitest'
import { createArrayAdapter } from '../../examples/custom-adapter.js'

testAdapter({
  test: (name, run) => test(name, run, 60_000),
  createStorage: async () => {
    const adapter = createArrayAdapter()
    return { connect: () => adapter }
  },
})
