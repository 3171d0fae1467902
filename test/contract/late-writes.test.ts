import { describe, expect, test } from 'vitest'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { createMemoryAdapter, ServiceError, type StorageAdapter } from '../../src/index.js'
import { answerAtDeadline } from '../support/deadlines.js'
import { createTestService } from '../support/service.js'
import { closeAfterEach } from '../support/storages.js'

// CONTRACT.md §6, "Deadlines"; §7, "Storage"

const opened = closeAfterEach()

const config = {
  collections: {
    tags: { schema: { name: { type: 'string' } }, permissions: { '*': true } },
    notes: {
      schema: { tags: { type: 'array', items: { type: 'reference', collection: 'tags' } } },
      permissions: { '*': true },
    },
  },
} as const

/** A storage whose write waits until it is told that nobody waits any more, and then answers so. */
function createLeaving(answer: (reason: unknown) => unknown) {
  let begin = (): void => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const adapter: StorageAdapter = {
    ...createMemoryAdapter(),
    write: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(answer(signal.reason)))
        begin()
      }),
  }
  return { adapter, begun }
}

describe('a write whose time is over', () => {
  test.each<[what: string, answer: (reason: unknown) => unknown, code: string]>([
    ['is unknown', () => undefined, 'outcome_unknown'],
    ['is unknown for a storage that only repeats the reason', (reason) => reason, 'outcome_unknown'],
    [
      'did not happen where the storage says so',
      () => new ServiceError('storage_unavailable', 'Nothing was written.'),
      'storage_unavailable',
    ],
    [
      'is unknown where the storage says so',
      () => new ServiceError('outcome_unknown', 'Nobody knows.'),
      'outcome_unknown',
    ],
  ])('%s', async (_, answer, code) => {
    const { adapter, begun } = createLeaving(answer)
    const service = createTestService(config, { adapter })
    opened.push(service)
    const { status, body } = await answerAtDeadline(begun, () =>
      service.send('POST /tags', { body: { name: 'a' }, mayFail: true }),
    )
    expect([status, body.code]).toEqual([503, code])
  })

  test('did not happen where SQLite was still looking for what refuses it', { timeout: 60_000 }, async () => {
    const inner = createSqliteAdapter({ file: ':memory:' })
    let begin = (): void => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const adapter: StorageAdapter = {
      ...inner,
      write(steps, options) {
        const writing = inner.write(steps, options)
        if (steps.some((step) => 'refuse' in step)) begin()
        return writing
      },
    }
    const service = createTestService(config, { adapter })
    opened.push(service)
    const { send } = service
    const create = async (body: object): Promise<string> => (await send('POST /tags', { body })).body._id
    const [used, unused] = [await create({ name: 'used' }), await create({ name: 'unused' })]
    const notes = Array.from({ length: 4000 }, (_, i) => ({
      in: 'notes',
      insert: { _id: `note-${i}`, _version: 1, tags: [used] },
    }))
    await inner.write(notes, {})
    const { status, body } = await answerAtDeadline(begun, () =>
      send(`DELETE /tags/${unused}`, { mayFail: true }),
    )
    expect([status, body.code]).toEqual([503, 'storage_unavailable'])
    expect((await send(`GET /tags/${unused}`)).status).toBe(200)
    expect((await send(`DELETE /tags/${unused}`)).status).toBe(204)
  })
})
