import { describe, expect, test } from 'vitest'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { type FieldRef, isId } from '../../src/core/filter/filter.js'
import type { WriteStep } from '../../src/core/storage.js'
import { createMemoryAdapter, ServiceError } from '../../src/index.js'
import { answerAtDeadline } from '../support/deadlines.js'
import { createTestService } from '../support/service.js'
import { closeAfterEach } from '../support/storages.js'
import { replaceMethods } from '../support/stored.js'

// CONTRACT.md §6, "Deadlines"; §7, "Storage"

const opened = closeAfterEach()

const TEXT: FieldRef = { path: 'text', type: 'string', each: false }

const config = {
  collections: {
    tags: { schema: { name: { type: 'string' } }, permissions: { '*': true } },
  },
} as const

/** A storage whose write waits until it is told that nobody waits any more, and then answers so. */
function createLeaving(answer: (reason: unknown) => unknown) {
  let begin = (): void => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const adapter = replaceMethods(createMemoryAdapter(), {
    write: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(answer(signal.reason)))
        begin()
      }),
  })
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

  test('did not happen where SQLite was still looking for what refuses it', async () => {
    const adapter = createSqliteAdapter({ file: ':memory:' })
    await adapter.open([{ name: 'notes', indexes: [] }])
    const notes = Array.from({ length: 10_000 }, (_, i) => ({
      in: 'notes',
      insert: { _id: `note-${i}`, _version: 1, text: 'some' },
    }))
    await adapter.write(notes, {})
    const steps: readonly WriteStep[] = [
      { in: 'notes', insert: { _id: 'late', _version: 1 } },
      { in: 'notes', refuse: { kind: 'eq', field: TEXT, value: 'another' } },
    ]
    const over = new AbortController()
    const writing = Promise.resolve(adapter.write(steps, { signal: over.signal }))
    setImmediate(() => over.abort())
    await expect(writing).rejects.toMatchObject({ code: 'storage_unavailable' })
    expect(await adapter.count('notes', isId('late'), {})).toBe(0)
    expect(await adapter.write(steps, {})).toMatchObject({ ok: true })
    await adapter.close()
  })
})
