import { afterEach, expect, test, vi } from 'vitest'
import { useIndex } from '../../../../src/core/filter/index-order.js'
import { compileAccess } from '../../../../src/core/permissions/read-access.js'
import { compileQuery } from '../../../../src/core/query/compile-query.js'
import { parseQueryString } from '../../../../src/core/query/query-string.js'
import { useCaches } from '../../../support/caches.js'
import { createTestService, type SendOptions } from '../../../support/service.js'
import { idOf } from '../../../support/stored.js'

useCaches()

/** What two equal requests have computed is not computed again. */

vi.mock('../../../../src/core/filter/index-order.js', { spy: true })
vi.mock('../../../../src/core/permissions/read-access.js', { spy: true })
vi.mock('../../../../src/core/query/compile-query.js', { spy: true })
vi.mock('../../../../src/core/query/query-string.js', { spy: true })

const config = {
  collections: {
    notes: {
      schema: { text: { type: 'string' }, n: { type: 'integer', index: true }, team: { type: 'string' } },
      permissions: {
        '*': { read: { omit: ['team'], where: { n: { $lt: 9 } } } },
        user: { read: { where: { team: '$user.team' } } },
        late: { read: { where: { createdAt: { $lt: '$now' } } } },
      },
    },
  },
}

const documents = {
  notes: Array.from({ length: 10 }, (_, i) => ({ _id: idOf(i + 1), text: `text ${i}`, n: i, team: 'red' })),
}

const open = () => createTestService(config, { documents, authenticate: () => null })

/** How often each of the functions was called since this was asked last. */
function takeCounts() {
  const counts = [parseQueryString, compileQuery, compileAccess, useIndex].map(
    (counting) => vi.mocked(counting).mock.calls.length,
  )
  vi.clearAllMocks()
  const [parsed, compiled, accesses, plans] = counts
  // A plan tries every index.
  return { parsed, compiled, accesses, plans: Math.min(1, plans ?? 0) }
}

afterEach(() => void vi.clearAllMocks())

const NOTHING = { parsed: 0, compiled: 0, accesses: 0, plans: 0 }

const red: SendOptions = { caller: { id: 'ann', team: 'red' } }

test.each([
  '/notes?limit=5',
  '/notes?q[n][$gte]=2&sort[n]=-1&limit=3&total=true',
  '/notes/count?q[text]=text 1',
  '/notes',
])('a third equal query parses, compiles and plans nothing: %s', async (path) => {
  for (const caller of [{}, red]) {
    const { send } = open()
    const { text } = await send(`GET ${path}`, caller)
    expect(takeCounts()).toMatchObject({ compiled: 1 })
    // What comes once most often never comes again: it is not kept.
    expect((await send(`GET ${path}`, caller)).text).toBe(text)
    expect(takeCounts()).toMatchObject({ parsed: 1, compiled: 1 })
    expect((await send(`GET ${path}`, caller)).text).toBe(text)
    expect(takeCounts()).toEqual(NOTHING)
  }
})

test('names that one route takes are refused by another one, and values are judged each time', async () => {
  const { send } = open()
  for (let i = 0; i < 3; i++) {
    expect(await send(`GET /notes?q[n]=${i}&limit=2`)).toMatchObject({ status: 200 })
    const [other, wrong, broken] = await Promise.all([
      send(`GET /notes/count?q[n]=${i}&limit=2`),
      send(`GET /notes?q[n]=a${i}&limit=2`),
      send('GET /notes?q[n]=%&limit=2'),
    ])
    expect([other, wrong, broken].map(({ body }) => body.errors[0].code)).toEqual([
      'unknown_parameter',
      'wrong_type',
      'malformed',
    ])
  }
})

test('the text and the tag of a document are written once for all who see the same of it', async () => {
  const { send } = open()
  const first = await send(`GET /notes/${idOf(1)}`, red)
  const write = vi.spyOn(JSON, 'stringify')
  for (const id of ['ann', 'ben', 'cay']) {
    const again = await send(`GET /notes/${idOf(1)}`, { caller: { id, team: 'red' } })
    expect([again.text, again.headers.get('etag')]).toEqual([first.text, first.headers.get('etag')])
  }
  const written = write.mock.calls.filter(([value]) => (value as { _id?: string } | null)?._id !== undefined)
  expect(written).toEqual([])
  write.mockRestore()
})

test('callers who are alike share what is compiled; others do not', async () => {
  const { send } = open()
  const ask = (caller: SendOptions['caller']) => send('GET /notes?limit=5', { caller: caller ?? null })
  await ask({ id: 'ann', team: 'red' })
  await ask({ id: 'cay', team: 'red' })
  takeCounts()
  await ask({ id: 'ben', team: 'red', roles: ['nothing'], age: 5 })
  expect(takeCounts()).toEqual(NOTHING)
  await ask({ id: 'ann', team: 'blue' })
  expect(takeCounts()).toMatchObject({ compiled: 1, accesses: 1 })
  await ask({ id: 'ann' })
  expect(takeCounts()).toMatchObject({ compiled: 1, accesses: 1 })
})

test('callers with equal claims share what is compiled, and a change of a claim is seen', async () => {
  const schema = { user: { type: 'string', index: true }, team: { type: 'string' } }
  const { notes } = config.collections
  const permissions = { user: { read: { where: { team: { $in: '$user.teams' } } } } }
  const { send } = createTestService(
    {
      collections: {
        notes: { schema: notes.schema, permissions },
        memberships: { schema, permissions: { user: { create: true } } },
      },
      auth: { claims: { teams: { from: 'memberships', where: { user: '$user._id' }, take: 'team' } } },
    },
    {
      documents: { ...documents, memberships: ['ann', 'ben'].map((user) => ({ user, team: 'red' })) },
      authenticate: () => null,
    },
  )
  const ask = (id: string) => send('GET /notes?limit=5', { caller: { id } })
  const { text } = await ask('ann')
  expect(takeCounts()).toMatchObject({ compiled: 1, accesses: 1 })
  expect((await ask('ben')).text).toBe(text)
  expect(takeCounts()).toMatchObject({ compiled: 1, accesses: 0 })
  expect((await ask('ben')).text).toBe(text)
  expect(takeCounts()).toMatchObject({ compiled: 0, accesses: 0 })
  await send('POST /memberships', { caller: { id: 'ann' }, body: { user: 'ann', team: 'blue' } })
  takeCounts()
  await ask('ann')
  expect(takeCounts()).toMatchObject({ compiled: 1, accesses: 1 })
  expect((await ask('zoe')).text).toBe('[]')
})

test('what depends on the time is compiled for each request', async () => {
  const { send } = open()
  const late: SendOptions = { caller: { id: 'ann', team: 'red', roles: ['late'] } }
  for (let times = 0; times < 3; times++) {
    await send('GET /notes?limit=5', late)
    expect(takeCounts()).toMatchObject({ parsed: 1, compiled: 1, accesses: 1 })
  }
})

test('another service with another index has the plans made anew', async () => {
  const service = open()
  const path = '/notes?sort[text]=1&limit=5'
  const { text } = await service.send(`GET ${path}`)
  await service.send(`GET ${path}`)
  takeCounts()
  const schema = { ...config.collections.notes.schema, text: { type: 'string', index: true } }
  const other = createTestService(
    { collections: { notes: { schema, permissions: {} } } },
    { adapter: service.adapter, authenticate: () => null },
  )
  await other.handler.ready()
  expect((await service.send(`GET ${path}`)).text).toBe(text)
  expect(takeCounts()).toEqual({ ...NOTHING, plans: 1 })
})

test('a query that is refused is refused again', async () => {
  const { send } = open()
  const refused = await Promise.all([1, 2].map(() => send('GET /notes?q[team]=red')))
  expect(refused.map(({ status }) => status)).toEqual([400, 400])
  expect((await send('GET /notes?q[team]=red', red)).status).toBe(200)
  expect((await send('GET /notes?q[team]=red')).status).toBe(400)
})
