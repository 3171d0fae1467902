import { describe, expect, test } from 'vitest'
import { createMemoryAdapter } from '../../src/index.js'
import { createTestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'

// CONTRACT.md §1, "Names"

/** What every object of a program has, or what some code asks objects for. */
const NAMES = [
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'then',
  'toJSON',
  'length',
]

const to = (collection: string) => ({ type: 'reference', collection, onDelete: 'unset' })
const schema = {
  name: { type: 'string', unique: true },
  one: to('constructor'),
  many: { type: 'array', items: to('prototype') },
}
const permissions = { '*': true }
const config = { collections: Object.fromEntries(NAMES.map((name) => [name, { schema, permissions }])) }

const opened = closeAfterEach()

describe.each(useStorages())('on %s', (_storage, createStorage) => {
  test('collections may be called as members of objects are', async () => {
    const told: unknown[] = []
    const hooks = { constructor: { before: () => void told.push('constructor') } }
    const service = createTestService(config, { adapter: createStorage(), hooks })
    opened.push(service)
    const { send } = service
    const ids = new Map<string, string>()
    for (const name of NAMES) {
      const { status, body } = await send(`POST /${name}`, { body: { name } })
      expect(status, name).toBe(201)
      ids.set(name, body._id)
      expect((await send(`POST /${name}/bulk`, { body: { documents: [{ name }] } })).status).toBe(409)
      expect(await service.list(`/${name}?q[name]=${name}&sort[one]=1`, 'name')).toEqual([name])
      expect((await send(`GET /${name}/count`)).body).toEqual({ total: 1 })
    }
    expect(told).toEqual(['constructor', 'constructor'])
    const [one, many] = [ids.get('constructor'), [ids.get('prototype')]]
    const path = `/then/${ids.get('then')}`
    expect((await send(`PATCH ${path}`, { body: { one, many } })).status).toBe(200)
    const expanded = await send(`GET ${path}?expand=["one","many"]`)
    expect([expanded.body.one.name, expanded.body.many[0].name]).toEqual(['constructor', 'prototype'])
    const operations = NAMES.slice(0, 2).map((name) => ({
      method: 'DELETE',
      path: `/${name}/${ids.get(name)}`,
    }))
    expect((await send('POST /_batch', { body: { operations } })).status).toBe(200)
    const { body } = await send(`GET ${path}`)
    expect([body.one, body.many]).toEqual([undefined, []])
  })
})

describe.each(useStorages())('on %s', (_storage, createStorage) => {
  test('a collection that is called another name by its capitals alone is another one', async () => {
    const adapter = createStorage()
    for (const [i, name] of ['notes', 'Notes', 'noteS', 'notes'].entries()) {
      const schema = { text: { type: 'string', index: true } }
      // The last configuration has documents of the first one, and says that they are meant.
      const collections = { [name]: { stored: name, schema, permissions } }
      const service = createTestService({ collections }, { adapter })
      if (i === 3) opened.push(service)
      expect((await service.send(`POST /${name}`, { body: { text: name } })).status).toBe(201)
      expect(await service.list(`/${name}?sort[text]=1`, 'text')).toEqual(i === 3 ? [name, name] : [name])
    }
  })
})

test('such a collection takes nothing from what it is looked up in', async () => {
  const adapter = createMemoryAdapter({ documents: { valueOf: [{ name: 'a' }] } })
  const service = createTestService(config, { adapter, hooks: { valueOf: { before: () => undefined } } })
  for (const name of NAMES)
    expect(await service.list(`/${name}`, 'name')).toEqual(name === 'valueOf' ? ['a'] : [])
  expect((await service.send('POST /constructor', { body: {} })).status).toBe(201)
})
