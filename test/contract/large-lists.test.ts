import { afterEach, expect, test, vi } from 'vitest'
import { createMemoryAdapter } from '../../src/index.js'
import { scale, useSmallerBounds } from '../support/bounds.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §6, "Scheduling"

const config = {
  collections: {
    notes: {
      schema: { data: { type: 'json' }, n: { type: 'integer' } },
      permissions: { '*': true },
    },
  },
} as const

const DOCUMENTS = 8
const VALUES = scale(250_000)

useSmallerBounds()

let isOn = true
afterEach(() => {
  isOn = false
  vi.restoreAllMocks()
})

/** Notes the most characters of JSON that are written between two turns of the event loop. */
function watchWriting(): () => number {
  let [written, most] = [0, 0]
  const stringify = JSON.stringify.bind(JSON)
  vi.spyOn(JSON, 'stringify').mockImplementation((...given: Parameters<typeof JSON.stringify>) => {
    const text = stringify(...given)
    written += text?.length ?? 0
    most = Math.max(most, written)
    return text
  })
  isOn = true
  const turn = (): void => {
    written = 0
    if (isOn) setImmediate(turn)
  }
  setImmediate(turn)
  return () => most
}

async function serveLarge() {
  const service = createTestService(config, { adapter: createMemoryAdapter() })
  const data = Array.from({ length: VALUES }, () => 0)
  for (let n = 0; n < DOCUMENTS; n++) {
    const { status } = await service.send('POST /notes', { body: { data, n } })
    expect(status).toBe(201)
  }
  return service.handler
}

test.each([`limit=${DOCUMENTS}`, `limit=${DOCUMENTS}&project=["data"]`, 'limit=2000'])(
  'large documents are written one by one: %s',
  async (query) => {
    const handler = await serveLarge()
    const most = watchWriting()
    const response = await handler(new Request(`http://service.test/notes?${query}`))
    const listed: unknown = await response.json()
    expect(listed).toHaveLength(DOCUMENTS)
    // The characters of two documents, and of what is little.
    expect(most()).toBeLessThan(2 * 2 * VALUES + 2000)
  },
)
