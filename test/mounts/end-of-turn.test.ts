import { createRequest, createResponse, type MockResponse } from 'node-mocks-http'
import { describe, expect, test, vi } from 'vitest'
import { toNodeHandler } from '../../src/mounts/node.js'
import { JSON_BODY, seeded } from './support/node.js'

interface Asked {
  /** How many answers have left. */
  left(): number
}

/** Asks for as many lists in one turn of the event loop. */
async function askNode(count: number): Promise<Asked> {
  const { handler } = seeded()
  await handler.ready()
  const listener = toNodeHandler(handler)
  const responses: MockResponse<ReturnType<typeof createResponse>>[] = []
  for (let i = 0; i < count; i++) {
    const response = createResponse()
    responses.push(response)
    void listener(createRequest({ method: 'GET', url: '/articles', baseUrl: '' }), response)
  }
  return { left: () => responses.filter((response) => response._isEndCalled()).length }
}

async function askFetch(count: number): Promise<Asked> {
  const { handler } = seeded()
  await handler.ready()
  let left = 0
  for (let i = 0; i < count; i++) {
    void handler(new Request('http://localhost/articles')).then(() => left++)
  }
  return { left: () => left }
}

/** Lets run whatever waits for nothing but promises. */
const promises = async (): Promise<void> => {
  for (let i = 0; i < 1000; i++) await undefined
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe.each([
  ['the mount for Node', askNode],
  ['the handler', askFetch],
])('answers of %s', (_, ask) => {
  test('leave together, at the end of a turn of the event loop', async () => {
    const { left } = await ask(3)
    await promises()
    expect(left()).toBe(0)
    await nextTurn()
    expect(left()).toBe(3)
  })

  test('do not wait for a fake clock', async () => {
    vi.useFakeTimers()
    const { left } = await ask(1).finally(() => vi.useRealTimers())
    await nextTurn()
    expect(left()).toBe(1)
  })
})

test('a fake clock that was there first is not asked', async () => {
  vi.resetModules()
  vi.useFakeTimers()
  const { endOfTurn } = await import('../../src/core/slices.js').finally(() => vi.useRealTimers())
  // What is imported next has no part in this.
  vi.resetModules()
  expect(endOfTurn()).toBeUndefined()
})

test.each([
  ['a read', () => new Request('http://localhost/articles')],
  [
    'a create',
    () =>
      new Request('http://localhost/articles', {
        method: 'POST',
        body: '{"title":"Last"}',
        headers: JSON_BODY,
      }),
  ],
])('%s that is under way is answered before the service is closed', async (_, createRequest) => {
  const { handler } = seeded()
  await handler.ready()
  const told: string[] = []
  const answered = handler(createRequest()).then(({ status }) => told.push(`answered with ${status}`))
  await handler.close()
  told.push('closed')
  await answered
  expect(told).toEqual([expect.stringMatching(/^answered with 20/), 'closed'])
})
