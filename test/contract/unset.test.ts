import { describe, expect, test } from 'vitest'
import type { StorageAdapter } from '../../src/index.js'
import type { Sent, TestService } from '../support/service.js'
import { useStorages } from '../support/storages.js'
import { idOf, readStored } from '../support/stored.js'
import {
  all,
  arrayOf,
  idsOf,
  type Json,
  objectOf,
  outcomeOf,
  P1,
  P2,
  P3,
  snapshot,
  text,
  to,
  useOpen,
} from './support/references.js'

// CONTRACT.md §2, "References"

const storages = useStorages()
const open = useOpen()

const unset = { onDelete: 'unset' }
const people = { schema: { name: text, boss: to('people', unset) }, permissions: all }
const posts = {
  schema: {
    title: text,
    one: to('people', unset),
    fixed: to('people', { ...unset, immutable: true }),
    many: arrayOf(to('people', unset)),
    o: objectOf({ r: to('people', unset), x: text }),
    list: arrayOf(objectOf({ r: to('people', unset), x: text })),
    kept: to('people'),
    with: to('people', { onDelete: 'cascade' }),
  },
  permissions: { admin: true },
}

describe.each(storages)('deleting what others refer to with "unset", in %s', (_, create) => {
  const start = (referrers: readonly Json[], more: readonly Json[] = []): Promise<TestService> =>
    open(
      { people, posts },
      {
        people: [{ _id: P1 }, { _id: P2 }, { _id: P3 }, ...more],
        posts: referrers.map((one, i) => ({ _id: idOf(100 + i), ...one })),
      },
      { adapter: create() as StorageAdapter },
    )
  const remove = (service: TestService, id = P1): Promise<Sent> => service.send(`DELETE /people/${id}`)

  test.each<[what: string, before: Json, after: Json]>([
    ['a reference', { one: P1, title: 't' }, { title: 't' }],
    ['an immutable one', { fixed: P1, one: P2 }, { one: P2 }],
    ['elements', { many: [P1, P2, P1, P3] }, { many: [P2, P3] }],
    ['the only element', { many: [P1] }, { many: [] }],
    ['a property of an object', { o: { r: P1, x: 'x' } }, { o: { x: 'x' } }],
    [
      'a property in an array of objects',
      { list: [{ r: P2 }, { r: P1, x: 'x' }, { r: P1 }] },
      { list: [{ r: P2 }, { x: 'x' }, {}] },
    ],
    ['all at once', { one: P1, many: [P1], o: { r: P1 }, title: 't' }, { many: [], o: {}, title: 't' }],
  ])('takes away %s', async (_what, before, after) => {
    const service = await start([before, { one: P2 }])
    const untouched = await readStored(service, 'posts', idOf(101))
    const old = (await readStored(service, 'posts', idOf(100))) ?? ({} as Json)
    expect((await remove(service)).status).toBe(204)
    const { _id, _version, createdAt, createdBy, updatedAt, ...fields } =
      (await readStored(service, 'posts', idOf(100))) ?? ({} as Json)
    expect(fields).toEqual(after)
    expect([_version, createdAt, createdBy]).toEqual([Number(old._version) + 1, old.createdAt, old.createdBy])
    expect(updatedAt).not.toBe(old.updatedAt)
    expect(await readStored(service, 'posts', idOf(101))).toEqual(untouched)
  })

  test('changes nothing where another reference keeps the target', async () => {
    const service = await start([{ one: P1 }, { kept: P1 }])
    const before = await snapshot(service, ['people', 'posts'])
    expect(outcomeOf(await remove(service))).toEqual([409, 'reference_in_use'])
    expect(await snapshot(service, ['people', 'posts'])).toEqual(before)
  })

  test('goes on where a cascade goes, and what goes too is not changed', async () => {
    const service = await open(
      {
        people,
        posts,
        notes: { schema: { post: to('posts', unset), person: to('people', unset) }, permissions: all },
      },
      {
        people: [
          { _id: P1, boss: P1 },
          { _id: P2, boss: P1 },
        ],
        posts: [
          { _id: idOf(100), with: P1, one: P1 },
          { _id: idOf(101), one: P1 },
        ],
        notes: [
          { _id: idOf(200), post: idOf(100), person: P1 },
          { _id: idOf(201), post: idOf(101) },
        ],
      },
      { adapter: create() as StorageAdapter },
    )
    expect((await remove(service)).status).toBe(204)
    expect(await idsOf(service, 'people')).toEqual([P2])
    expect(await idsOf(service, 'posts')).toEqual([idOf(101)])
    expect((await readStored(service, 'people', P2))?.boss).toBeUndefined()
    expect(await readStored(service, 'notes', idOf(200))).not.toHaveProperty('post')
    expect(await readStored(service, 'notes', idOf(200))).not.toHaveProperty('person')
    expect((await readStored(service, 'notes', idOf(201)))?.post).toBe(idOf(101))
  })

  test('changes 1,000 documents at most, counted with those of a cascade', async () => {
    const one = Array.from({ length: 990 }, () => ({ one: P1 }))
    const both = Array.from({ length: 10 }, () => ({ with: P1 }))
    const service = await start([...one, ...both, { one: P2 }])
    const insert = { _id: idOf(5000), _version: 1, one: P1 }
    await service.adapter.write([{ in: 'posts', insert }], {})
    const before = await snapshot(service, ['people', 'posts'])
    expect(outcomeOf(await remove(service))).toEqual([409, 'cascade_too_large'])
    expect(await snapshot(service, ['people', 'posts'])).toEqual(before)
    await service.adapter.write(
      [{ in: 'posts', replace: { ...insert, _version: 2, one: P2 }, version: 1 }],
      {},
    )
    expect((await remove(service)).status).toBe(204)
    expect((await idsOf(service, 'posts')).length).toBe(992)
  })

  test('in a batch counts with its other deletes, and later operations see it', async () => {
    const service = await start([{ one: P1 }, { one: P2 }])
    const operations = [
      { method: 'DELETE', path: `/people/${P1}` },
      { method: 'DELETE', path: `/people/${P2}` },
    ]
    const get = { method: 'GET', path: `/posts/${idOf(100)}` }
    const caller = { id: 'ann', roles: ['admin'] }
    const sent = await service.send('POST /_batch', { body: { operations: [...operations, get] }, caller })
    expect(sent.status).toBe(200)
    expect(sent.body.results[2].body).not.toHaveProperty('one')
    expect(await readStored(service, 'posts', idOf(101))).not.toHaveProperty('one')
  })
})
