import { expect, test } from 'vitest'
import { seedWhenEmpty } from '../../../../src/core/start/seed-when-empty.js'
import { createMemoryAdapter, type StorageAdapter } from '../../../../src/index.js'
import { createTestService } from '../../../support/service.js'

const open = { permissions: { '*': true } }
const config = {
  collections: {
    notes: { schema: { text: { type: 'string', unique: true } }, ...open },
    tags: { schema: {}, ...open },
  },
}
const documents = { notes: [{ text: 'one' }, { text: 'two' }] }

function start(storage: StorageAdapter, seed: { readonly [name: string]: readonly unknown[] } = documents) {
  const seeding = seedWhenEmpty(storage, seed)
  return { seeding, service: createTestService(config, { adapter: seeding.adapter }) }
}

test('a storage that holds nothing begins with the documents, once', async () => {
  const storage = createMemoryAdapter()
  const first = start(storage)
  await first.service.handler.ready()
  expect(first.seeding.finish()).toBe('stored')
  expect(await first.service.list('/notes', 'text')).toEqual(['one', 'two'])
  expect((await first.service.send('POST /notes', { body: { text: 'three' } })).status).toBe(201)

  const second = start(storage)
  await second.service.handler.ready()
  expect(second.seeding.finish()).toBe('skipped')
  expect(await second.service.list('/notes', 'text')).toEqual(['one', 'two', 'three'])
})

test('one document in any collection keeps all of them away', async () => {
  const storage = createMemoryAdapter({ documents: { tags: [{}] } })
  await createTestService(config, { adapter: storage }).handler.ready()
  const { seeding, service } = start(storage, { notes: [{ text: 5 }] })
  await service.handler.ready()
  expect(seeding.finish()).toBe('skipped')
  expect((await service.send('GET /notes/count')).body).toEqual({ total: 0 })
})

test('of two that begin at once one stores them', async () => {
  const storage = createMemoryAdapter()
  const started = [start(storage), start(storage)]
  await Promise.all(started.map(({ service }) => service.handler.ready()))
  expect(started.map(({ seeding }) => seeding.finish()).sort()).toEqual(['skipped', 'stored'])
  expect(await started[0]?.service.list('/notes', 'text')).toEqual(['one', 'two'])
})

test('documents with faults are stored by nobody', async () => {
  for (const notes of [
    [{ text: 'one' }, { text: 5 }],
    [{ text: 'one' }, { text: 'one' }],
  ]) {
    const storage = createMemoryAdapter()
    const { service } = start(storage, { notes })
    await expect(service.handler.ready()).rejects.toMatchObject({ errors: [expect.anything()] })
    const next = start(storage)
    await next.service.handler.ready()
    expect(next.seeding.finish()).toBe('stored')
  }
})

test('no documents at all are stored as well', async () => {
  const { seeding, service } = start(createMemoryAdapter(), { notes: [] })
  await service.handler.ready()
  expect(seeding.finish()).toBe('stored')
  for (const text of ['one', 'two']) {
    expect((await service.send('POST /notes', { body: { text } })).status).toBe(201)
  }
})
