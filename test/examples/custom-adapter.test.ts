import { testAdapter } from 'collection-service/testing'
import { afterAll, beforeAll, test, vi } from 'vitest'
import { createArrayAdapter } from '../../examples/custom-adapter.js'

const OWN = { writable: true, enumerable: true, configurable: true }

/** A copy of what is JSON, as documents are, sooner made: the kit lists them a hundred thousand times. */
function copyJson(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyJson)
  const copy: { [name: string]: unknown } = {}
  for (const name of Object.keys(value)) {
    const held = copyJson((value as typeof copy)[name])
    if (name in copy) Object.defineProperty(copy, name, { value: held, ...OWN })
    else copy[name] = held
  }
  return copy
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
