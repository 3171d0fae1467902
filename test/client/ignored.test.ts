import { describe, expect, test } from 'vitest'
import { createClient, type IgnoredContext } from '../../src/client/client.js'
import { createCollectionService, createMemoryAdapter, defineConfig } from '../../src/index.js'
import { createTestHasher } from '../../src/tools/testing/index.js'
import { caught } from './support/service.js'

// CONTRACT.md §7, "The client"; §6, "Headers"

const config = defineConfig({
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true },
        password: { type: 'hash', required: true },
        role: { type: 'string' },
      },
      permissions: { '*': { read: true } },
    },
    notes: {
      schema: { title: { type: 'string' }, stars: { type: 'integer' } },
      permissions: {
        '*': { read: true, create: { pick: ['title'] }, update: { pick: ['title'] }, delete: true },
      },
    },
  },
})

const createService = () =>
  createCollectionService(config, createMemoryAdapter(), {
    hasher: createTestHasher(),
    production: false,
    logger: { info() {}, warn() {}, error() {} },
  })

function setUp() {
  const told: [readonly string[], IgnoredContext][] = []
  const client = createClient(createService(), { onIgnored: (...heard) => told.push(heard) })
  return { client, notes: client.collection('notes'), told }
}

describe('what was dropped of a body is told', () => {
  test('for each call that writes', async () => {
    const { client, notes, told } = setUp()
    const id = '0190163d-8694-4000-8000-000000000001'
    const created = await notes.create({ title: 'a', stars: 1 })
    const path = `/notes/${created._id}`
    await notes.update(created, { stars: 2 })
    await notes.replace(created._id, { title: 'b', stars: 2 })
    await notes.create({ stars: 1 }, { id })
    await notes.createMany([{ title: 'x', stars: 1 }, { title: 'y' }])
    await client.auth.register({ email: 'ann', password: 'x', role: 'admin' })
    expect(client.token).toBeDefined()
    expect(told).toEqual([
      [['stars'], { method: 'POST', path: '/notes' }],
      [['stars'], { method: 'PATCH', path }],
      [['stars'], { method: 'PUT', path }],
      [['stars'], { method: 'PUT', path: `/notes/${id}` }],
      [['stars'], { method: 'POST', path: '/notes/bulk' }],
      [['role'], { method: 'POST', path: '/auth/register' }],
    ])
  })

  test('with all names, in the order of the service', async () => {
    const { notes, told } = setUp()
    const more = { title: 'a', stars: 1, _id: 'x', createdAt: 'y' }
    await notes.create(more)
    expect(told.map(([names]) => names)).toEqual([['_id', 'createdAt', 'stars']])
  })

  test('never where nothing was, nor for what only reads', async () => {
    const { notes, told } = setUp()
    const created = await notes.create({ title: 'a' })
    await notes.get(created)
    await notes.list()
    await notes.update(created, { title: 'b' })
    await notes.delete(created._id)
    expect(told).toEqual([])
  })

  test('for each operation of a batch, whose results have it too', async () => {
    const { client, notes, told } = setUp()
    const { _id } = await notes.create({ title: 'a' })
    const results = await client.batch((b) => [
      b.notes.create({ title: 'b', stars: 1 }),
      b.notes.get(_id),
      b.notes.update(_id, { title: 'c', stars: 2 }),
      b.notes.delete(_id),
    ])
    expect(results.ignored).toEqual([['stars'], [], ['stars'], []])
    expect(Object.keys(results)).toEqual(['0', '1', '2', '3'])
    expect(results.map((one) => one?.title)).toEqual(['b', 'a', 'c', undefined])
    expect(told).toEqual([
      [['stars'], { method: 'POST', path: '/notes', operation: 0 }],
      [['stars'], { method: 'PATCH', path: `/notes/${_id}`, operation: 2 }],
    ])
  })

  test('by the property that the client has by then', async () => {
    const { client, notes, told } = setUp()
    client.onIgnored = undefined
    await notes.create({ stars: 1 })
    const others: unknown[] = []
    client.onIgnored = (names) => others.push(names)
    await notes.create({ stars: 1 })
    expect([told, others]).toEqual([[], [['stars']]])
  })

  test('and what it throws, the call throws, though the write is done', async () => {
    const { client, notes } = setUp()
    const fault = new Error('not so')
    client.onIgnored = () => {
      throw fault
    }
    expect(await caught(notes.create({ stars: 1 }))).toBe(fault)
    expect(await notes.count()).toBe(1)
  })
})

test('with Prefer: handling=strict it is a ClientError, and nothing is written', async () => {
  const client = createClient(createService(), { headers: { prefer: 'handling=strict' } })
  const notes = client.collection('notes')
  const fault = { path: '/stars', code: 'ignored' }
  expect(await caught(notes.create({ title: 'a', stars: 1 }))).toMatchObject({
    code: 'validation_failed',
    errors: [fault],
  })
  const batch = client.batch((b) => [b.notes.create({ title: 'a' }), b.notes.create({ stars: 1 })])
  expect(await caught(batch)).toMatchObject({
    operation: 1,
    errors: [{ ...fault, path: '/operations/1/body/stars' }],
  })
  expect(await notes.count()).toBe(0)
  expect(await notes.create({ title: 'a' })).toMatchObject({ title: 'a' })
})
