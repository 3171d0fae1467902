import { describe, expect, test } from 'vitest'
import type { Caller, StorageAdapter } from '../../src/index.js'
import { createTestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { replaceMethods } from '../support/stored.js'

// CONTRACT.md §4, "Own accounts"

const config = {
  collections: {
    notes: {
      schema: { text: { type: 'string' }, team: { type: 'string' } },
      permissions: {
        user: { create: true, read: { where: { team: { $ne: '$user.team' } } } },
        owner: { read: true, update: true, delete: true },
      },
    },
  },
}

const ID = '0189abcd-0000-7000-8000-000000000001'

/** The adapter, with the names of what it was asked. */
function watch(adapter: StorageAdapter): { readonly adapter: StorageAdapter; readonly asked: string[] } {
  const asked: string[] = []
  const note =
    <A extends unknown[], R>(name: string, ask: (...args: A) => R) =>
    (...args: A): R => {
      asked.push(name)
      return ask(...args)
    }
  return {
    asked,
    adapter: replaceMethods(adapter, {
      list: note('list', adapter.list),
      count: note('count', adapter.count),
      write: note('write', adapter.write),
    }),
  }
}

describe.each(useStorages())('a caller on the word of a host: %s', (_, createAdapter) => {
  const opened = closeAfterEach()

  test.each<[what: string, caller: unknown]>([
    ['an id with NUL', { id: 'a\u0000' }],
    ['an id with half a pair', { id: '\ud83d' }],
    ['an id with another half', { id: 'a\udc00b' }],
    ['an id that is not a string', { id: 7 }],
    ['an id that is an instance of String', { id: Object('ann') }],
    ['an id of 1,025 bytes', { id: `${'é'.repeat(512)}a` }],
    ['a role with NUL', { id: 'ann', roles: ['editor', 'a\u0000'] }],
    ['a role with half a pair', { id: 'ann', roles: ['\udfff'] }],
    ['a role that is not a string', { id: 'ann', roles: ['editor', 7] }],
    ['a role that is missing', { id: 'ann', roles: Array(1) }],
    ['roles that are not a list', { id: 'ann', roles: 'editor' }],
  ])('%s is a 500, and storage is not asked', async (_what, broken) => {
    const { adapter, asked } = watch(createAdapter())
    const service = createTestService(config, { adapter, authenticate: () => broken as Caller })
    opened.push(service)
    const lines = ['GET /notes', 'GET /notes/count', `GET /notes/${ID}`, `DELETE /notes/${ID}`]
    const writes = ['POST /notes', 'POST /notes/bulk', `PUT /notes/${ID}`, `PATCH /notes/${ID}`]
    for (const caller of [undefined, broken as Caller]) {
      for (const line of [...lines, ...writes]) {
        const sent = {
          ...(caller ? { caller } : {}),
          ...(lines.includes(line) ? {} : { body: { text: 'x' } }),
        }
        const answer = await service.send(line, { ...sent, mayFail: true })
        expect([answer.status, answer.body.code], line).toEqual([500, 'internal_error'])
      }
    }
    expect(asked).toEqual([])
  })

  test('an id of 1,024 bytes is one like any other', async () => {
    const service = createTestService(config, { adapter: createAdapter(), authenticate: () => null })
    opened.push(service)
    const id = Array.from({ length: 512 }, (_, i) => String.fromCharCode(0x80 + ((i * i * 31) % 1900))).join(
      '',
    )
    const caller = { id }
    const { body } = await service.send('POST /notes', { body: { text: 'x' }, caller })
    expect(body.createdBy).toBe(id)
    expect(await service.list('/notes', 'text', { caller })).toEqual(['x'])
    expect((await service.send(`DELETE /notes/${body._id}`, { caller })).status).toBe(204)
  })

  test('what else a caller holds may be anything, and counts where a field could hold it', async () => {
    const service = createTestService(config, { adapter: createAdapter(), authenticate: () => null })
    opened.push(service)
    const body = { text: 'x', team: 'red' }
    const { status } = await service.send('POST /notes', { body, caller: { id: 'ann' } })
    expect(status).toBe(201)
    const seenBy = (team: unknown) => service.list('/notes', 'team', { caller: { id: 'bob', team } })
    expect(await seenBy('blue')).toEqual(['red'])
    for (const team of ['red', 'a\u0000', '\ud83d', 7, new Map(), () => 'blue', null])
      expect(await seenBy(team)).toEqual([])
  })

  test('it is read once', async () => {
    const ids = ['ann', 'eve\u0000']
    const caller = {
      get id() {
        return ids.shift() ?? ''
      },
    }
    const service = createTestService(config, { adapter: createAdapter(), authenticate: () => caller })
    opened.push(service)
    expect((await service.send('POST /notes', { body: { text: 'x' } })).body.createdBy).toBe('ann')
  })
})
