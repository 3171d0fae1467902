import { expect, test } from 'vitest'
import type { Caller } from '../../src/index.js'
import { createTestService, type Sent } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'

// CONTRACT.md §8, "OpenAPI"

const config = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true },
        password: { type: 'hash', required: true },
        role: { type: 'string', enum: ['editor'] },
      },
      permissions: { '*': { create: true }, owner: { read: true }, editor: { read: true } },
    },
    articles: {
      schema: {
        title: { type: 'string', required: true, index: true },
        views: { type: 'integer' },
        author: { type: 'reference', collection: 'users' },
      },
      permissions: {
        '*': { read: { pick: ['title'] } },
        user: { create: true },
        owner: { read: true, update: true },
        editor: { read: true, delete: true },
      },
    },
  },
  auth: { roleField: 'role' },
} as const

const ANN: Caller = { id: 'ann' }
const CALLERS: readonly (Caller | null)[] = [null, ANN, { id: 'ed', roles: ['editor'] }]

const opened = closeAfterEach()
const storages = useStorages()

test('what a service may be asked is the same on every storage', async () => {
  const told: unknown[] = []
  for (const [, create] of storages) {
    const service = createTestService(config, { adapter: create(), openapi: true })
    opened.push(service)
    const { token } = await service.register({ email: 'ann@example.com', password: 'correct horse' })
    const answers: readonly Sent[] = [
      ...(await Promise.all(CALLERS.map((caller) => service.send('GET /_openapi.json', { caller })))),
      await service.send('GET /_openapi.json'),
      await service.send('GET /_openapi.json', { token }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(new Set(answers.map(({ text }) => text)).size).toBe(answers.length)
    told.push(answers.map(({ status, headers, text }) => [status, [...headers], text]))
  }
  expect(told).toEqual(Array.from(storages, () => told[0]))
})
