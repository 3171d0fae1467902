import { expect, test } from 'vitest'
import { createMemoryAdapter } from '../../src/adapters/memory/memory-adapter.js'
import { fuzzAdapter } from '../../src/tools/testing/index.js'
import { runKit } from '../support/run-kit.js'

const createStorage = async () => {
  const adapter = createMemoryAdapter()
  return { connect: () => adapter }
}

runKit(createStorage)

test('the same seed asks the same questions', async () => {
  const ask = () => fuzzAdapter(createStorage, { seed: 7, stores: 2, queries: 30 })
  expect(await ask()).toEqual(await ask())
})
