import { describe, expect, test } from 'vitest'
import { MIB, scale, useSmallerBounds } from '../support/bounds.js'
import { faultsOf } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { idOf, openStored } from '../support/stored.js'

// CONTRACT.md §2, "Batch"; §5, "No leak": what a batch may read is counted by what it shows

const text = { type: 'string' }
const opened = closeAfterEach()
useSmallerBounds()

const config = {
  collections: {
    texts: { schema: { k: text, text }, permissions: { user: { read: true } } },
    notes: {
      schema: { k: text, secret: { type: 'reference', collection: 'texts', match: { k: 'k' } } },
      permissions: { user: { read: { omit: ['secret'] }, update: { pick: ['k'] } } },
    },
  },
  limits: { documentBytes: 4 * MIB },
}

const LARGE = scale(1_900_000)
const texts = Array.from({ length: 5 }, (_, i) => ({ _id: idOf(i + 1), k: 'x', text: 'a'.repeat(LARGE) }))

const get = (_id: string) => ({ method: 'GET', path: `/texts/${_id}` })
const change = { method: 'PATCH', path: `/notes/${idOf(9)}`, body: { k: 'x' } }
const gets = texts.slice(0, 4).map(({ _id }) => get(_id))

describe.each(useStorages())('in %s', (_, createAdapter) => {
  const open = async (secret: string) => {
    const notes = [{ _id: idOf(9), k: 'x', secret }]
    const service = await openStored(config, { texts, notes }, { adapter: createAdapter() })
    opened.push(service)
    return service
  }

  test.each([
    ['behind what is read', [...gets, change]],
    ['before what is read', [change, ...gets]],
  ])('which document a hidden reference leads to does not count, %s', async (_, operations) => {
    for (const target of [idOf(1), idOf(5)]) {
      const { send } = await open(target)
      expect((await send('POST /_batch', { caller: { id: 'ann' }, body: { operations } })).status).toBe(200)
    }
  })

  test.each([
    ['that nobody has', idOf(900)],
    ['that the caller may not read', idOf(60)],
  ])('each of many references is looked up: one %s is refused', async (_, wrong) => {
    const collections = {
      texts: { schema: { k: text }, permissions: { user: { read: { where: { k: 'x' } } } } },
      lists: {
        schema: { k: text, of: { type: 'array', items: { type: 'reference', collection: 'texts' } } },
        permissions: { user: { read: true, create: true, update: true } },
      },
    }
    const all = Array.from({ length: 60 }, (_, i) => ({ _id: idOf(i + 1), k: i === 59 ? 'y' : 'x' }))
    const lists = [{ _id: idOf(1), of: [] }]
    const { send, handler } = await openStored(
      { collections },
      { texts: all, lists },
      { adapter: createAdapter() },
    )
    const body = { of: [...all.slice(0, 59).map(({ _id }) => _id), wrong] }
    for (const operation of [
      { method: 'POST', path: '/lists', body },
      { method: 'PATCH', path: `/lists/${idOf(1)}`, body },
    ]) {
      const sent = await send('POST /_batch', { caller: { id: 'ann' }, body: { operations: [operation] } })
      expect(faultsOf(sent)).toEqual({ '/operations/0/body/of/59': 'unknown_reference' })
    }
    await handler.close()
  })

  test('what is read behind it counts all the same', async () => {
    for (const target of [idOf(1), idOf(5)]) {
      const { send } = await open(target)
      const operations = [change, ...gets, get(idOf(5))]
      const { status, body } = await send('POST /_batch', { caller: { id: 'ann' }, body: { operations } })
      expect([status, body.code, body.operation]).toEqual([413, 'document_too_large', 5])
    }
  })
})
