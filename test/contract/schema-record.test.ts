import { describe, expect, test } from 'vitest'
import { createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { SCHEMA_RECORD_LAWS } from '../support/schema-record-laws.js'
import { createTestService } from '../support/service.js'
import { closeAfterEach, useLastingStorages } from '../support/storages.js'

// CONTRACT.md §7, "Earlier configurations"

const opened = closeAfterEach()

describe.each(useLastingStorages())('over %s, a service', (_, create) => {
  test.each(SCHEMA_RECORD_LAWS)('%s', async (_, check) => {
    await check({ connect: create(), opened })
  })
})

test('a start with an unchanged configuration reads the record once, and writes only the line of its process', async () => {
  const adapter = createMemoryAdapter()
  const calls: string[] = []
  const counted: StorageAdapter = {
    ...adapter,
    list: (name, query) => {
      calls.push(`list ${name}`)
      return adapter.list(name, query)
    },
    write: (steps, options) => {
      calls.push('write')
      return adapter.write(steps, options)
    },
  }
  const config = { collections: { notes: { schema: { a: { type: 'string' } } } } } as const
  for (const expected of [
    ['write', 'list _schema', 'list _schema', 'write'],
    ['write', 'list _schema'],
  ]) {
    const service = createTestService(config, { adapter: counted })
    opened.push(service)
    calls.length = 0
    await service.handler.ready()
    expect(calls.filter((call) => call !== 'list notes')).toEqual(expected)
  }
})
