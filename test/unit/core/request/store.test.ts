import { describe, expect, test } from 'vitest'
import { createMemoryAdapter, type ListQuery } from '../../../../src/index.js'
import { createTestService } from '../../../support/service.js'

// CONTRACT.md §7, "Storage"

const config = {
  collections: { notes: { schema: { n: { type: 'integer', index: true } }, permissions: { '*': true } } },
}

/** What an adapter of a host was asked. */
async function listen() {
  const asked: ListQuery[] = []
  const inner = createMemoryAdapter()
  const adapter = {
    ...inner,
    list(name: string, query: ListQuery) {
      if (name === 'notes') asked.push(query)
      return inner.list(name, query)
    },
  }
  const { send } = createTestService(config, { adapter })
  return { send, asked }
}

describe('an adapter is asked', () => {
  test('with a signal that survives a copy of the query', async () => {
    const { send, asked } = await listen()
    await send('GET /notes?limit=3')
    for (const query of asked) expect({ ...query }.signal).toBeInstanceOf(AbortSignal)
    expect(asked).toHaveLength(1)
  })

  test('for all bytes by leaving them out', async () => {
    const { send, asked } = await listen()
    await send('GET /notes/00000000-0000-4000-8000-000000000001')
    await send('GET /notes?limit=3')
    expect(asked.map((query) => 'bytes' in query)).toEqual([false, true])
  })
})
