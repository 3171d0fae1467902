import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createClient, type Operation } from '../../src/client/client.js'
import { caught, createSpiedClient } from './support/service.js'

// CONTRACT.md §7, "The client"; §2, "Batch"

const setUp = () => {
  const spied = createSpiedClient()
  return { ...spied, notes: spied.client.collection('notes') }
}

/** The body of the last request. */
const sentBy = ({ seen }: ReturnType<typeof setUp>) => seen.at(-1)?.body

describe('a batch', () => {
  test('is one request, and gives each operation its result', async () => {
    const world = setUp()
    const { client, notes, seen } = world
    const { _id } = await notes.create({ title: 'One' })
    const id = randomUUID()
    const [created, changed, removed] = await client.batch((b) => [
      b.notes.create({ title: 'Two' }, { id }),
      b.notes.update(_id, { views: 1, status: null }),
      b.notes.delete(id),
    ])
    expect(created).toMatchObject({ _id: id, title: 'Two', status: 'draft' })
    expect(changed).toMatchObject({ _id, title: 'One', views: 1 })
    expect(removed).toBeUndefined()
    expect(seen[1]?.line).toBe('POST /_batch')
    expect(sentBy(world)).toEqual({
      operations: [
        { method: 'PUT', path: `/notes/${id}`, ifNoneMatch: '*', body: { title: 'Two' } },
        { method: 'PATCH', path: `/notes/${_id}`, body: { views: 1, status: null } },
        { method: 'DELETE', path: `/notes/${id}` },
      ],
    })
    const [read, replaced, another] = await client.batch((b) => [
      b.notes.get(_id),
      b.notes.replace(_id, { title: 'Three' }),
      b.notes.create({ title: 'Four' }),
    ])
    expect(read).toEqual(changed)
    expect(replaced).toMatchObject({ _id, title: 'Three', views: 0 })
    expect(await notes.list()).toEqual([replaced, another])
    expect(seen).toHaveLength(4)
  })

  test('may be of any length that the service allows, in one list', async () => {
    const { client, notes } = setUp()
    const titles = ['One', 'Two', 'Three']
    const created = await client.batch((b) => titles.map((title) => b.notes.create({ title })))
    expect(created.map(({ title }) => title)).toEqual(titles)
    expect(await client.batch((b) => created.map((note) => b.notes.delete(note)))).toEqual(
      titles.map(() => undefined),
    )
    expect(await notes.count()).toBe(0)
    expect(
      await caught(client.batch((b) => ['a', 'b', 'c', 'd'].map((id) => b.notes.get(id)))),
    ).toMatchObject({ code: 'validation_failed', operation: undefined, errors: [{ path: '/operations' }] })
  })

  test('goes over collections, as the signed-in caller', async () => {
    const { client, seen } = setUp()
    const { user, token } = await client.auth.register({ email: 'ann@a.b', password: 'secret' })
    const [note, ann] = await client.batch((b) => [
      b.notes.create({ title: 'One', author: user._id }),
      b.users.update(user._id, { name: 'Ann' }),
    ])
    expect(note).toMatchObject({ author: user._id, createdBy: user._id })
    expect(ann).toMatchObject({ email: 'ann@a.b', name: 'Ann' })
    expect(seen.at(-1)?.headers.get('authorization')).toBe(`Bearer ${token}`)
  })

  test('takes dates for times, and none that is no time', async () => {
    const { client, seen } = setUp()
    const visited = new Date('2026-11-20T12:00:00Z')
    const [note] = await client.batch((b) => [
      b.notes.create({ title: 'One', address: { city: 'Ulm', visited } }),
    ])
    expect(note.address).toEqual({ city: 'Ulm', visited: visited.toISOString() })
    const never = { address: { visited: new Date('soon') } }
    for (const body of [never, { views: Number.NaN }]) {
      expect(await caught(client.batch((b) => [b.notes.update(note, body)]))).toBeInstanceOf(TypeError)
    }
    expect(seen).toHaveLength(1)
  })

  test('sends its operations in the order of the list, and none that is not returned', async () => {
    const { client, notes } = setUp()
    const titles = await client.batch((b) => {
      const [first, second] = [b.notes.create({ title: 'One' }), b.notes.create({ title: 'Two' })]
      b.notes.create({ title: 'Three' })
      return [second, first]
    })
    expect(titles.map(({ title }) => title)).toEqual(['Two', 'One'])
    expect(await notes.count()).toBe(2)
  })

  test.each<[string, (b: object) => unknown]>([
    ['nothing', () => []],
    ['what is not a list', () => undefined],
    ['a promise', async () => []],
    ['what nobody made', () => [{ method: 'GET', path: '/notes/x' }]],
    ['a gap', (b) => Object.assign([], { 1: (b as Notes).notes.get('x') })],
    [
      'a signal for one',
      (b) => [(b as Notes).notes.create({ title: 'One' }, { signal: AbortSignal.abort() })],
    ],
  ])('of %s is a TypeError, and sends nothing', async (_, build) => {
    const { client, seen } = setUp()
    expect(await caught(client.batch(build as () => readonly []))).toBeInstanceOf(TypeError)
    expect(seen).toEqual([])
  })

  test('takes no operation of another batch', async () => {
    const { client, seen } = setUp()
    let kept: readonly Operation<unknown>[] = []
    await client.batch((b) => {
      kept = [b.notes.create({ title: 'One' })]
      return kept
    })
    expect(await caught(client.batch(() => kept))).toBeInstanceOf(TypeError)
    expect(seen).toHaveLength(1)
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['an empty id', ''],
    ['a step up', '..'],
    ['a stream without end', 'changes'],
    ['an object without an id', {}],
  ])('asks for no document by %s', async (_, id) => {
    const { client, seen } = setUp()
    const document = id as string
    for (const call of ['get', 'update', 'delete'] as const) {
      expect(await caught(client.batch((b) => [b.notes[call](document, {})]))).toBeInstanceOf(TypeError)
    }
    expect(seen).toEqual([])
  })

  test('names a collection and an id as the calls alone do', async () => {
    const world = setUp()
    const { client, handler } = world
    await caught(client.batch((b) => [b.notes.delete('a/b?c#d e%')]))
    expect(sentBy(world)).toEqual({
      operations: [{ method: 'DELETE', path: '/notes/a%2Fb%3Fc%23d%20e%25' }],
    })
    type Anything = { readonly [name in '../x' | 'then' | '__proto__' | 'nosuch']: Note }
    const loose = createClient<Anything>((request: Request) => handler(request))
    for (const name of ['../x', 'then', '__proto__', 'nosuch'] as const) {
      expect(await caught(loose.batch((b) => [b[name].create({})]))).toMatchObject({
        code: 'validation_failed',
        operation: undefined,
        errors: [{ path: '/operations/0/path' }],
      })
    }
  })

  test('ends when it is given up', async () => {
    const { client, seen } = setUp()
    const batch = (signal: AbortSignal) =>
      caught(client.batch((b) => [b.notes.create({ title: 'One' })], { signal }))
    expect(await batch(AbortSignal.abort())).toMatchObject({ name: 'AbortError' })
    expect(seen).toEqual([])
    const controller = new AbortController()
    const called = batch(controller.signal)
    controller.abort(new Error('changed my mind'))
    expect(await called).toEqual(new Error('changed my mind'))
  })
})

interface Notes {
  readonly notes: { get(id: string): unknown; create(body: object, options: object): unknown }
}

interface Note {
  readonly document: { readonly _id: string }
  readonly create: object
  readonly update: object
  readonly references: object
}

describe('a document of a batch', () => {
  test('remembers its state, in and out of batches', async () => {
    const world = setUp()
    const { client, notes, seen } = world
    const [first] = await client.batch((b) => [b.notes.create({ title: 'One' })])
    const second = await notes.update(first, { views: 1 })
    expect(seen.at(-1)?.headers.has('if-match')).toBe(true)
    for (const stale of [
      () => client.batch((b) => [b.notes.update(first, { views: 2 })]),
      () => client.batch((b) => [b.notes.replace(first, { title: 'Two' })]),
      () => client.batch((b) => [b.notes.delete(first)]),
    ])
      expect(await caught(stale())).toMatchObject({ code: 'precondition_failed', operation: 0 })
    const [third] = await client.batch((b) => [b.notes.update(second, { views: 3 })])
    const [read, replaced] = await client.batch((b) => [
      b.notes.get(third),
      b.notes.replace(third, { title: 'Three' }),
    ])
    expect(read).toEqual(third)
    await client.batch((b) => [b.notes.delete(replaced)])
    expect(sentBy(world)).toMatchObject({ operations: [{ ifMatch: expect.any(String) }] })
    expect(await notes.count()).toBe(0)
  })

  test('is changed anyway where only its id is given, or nobody knows its state', async () => {
    const world = setUp()
    const { client, notes } = world
    const { _id } = await notes.create({ title: 'One' })
    const [listed = { _id }] = await notes.list()
    await client.batch((b) => [
      b.notes.update(_id, { views: 1 }),
      b.notes.replace({ _id }, { title: 'Two' }),
      b.notes.delete(listed),
    ])
    expect(JSON.stringify(sentBy(world))).not.toContain('ifMatch')
  })

  test('is a condition where it must be unchanged, and only there', async () => {
    const world = setUp()
    const { client, notes } = world
    const seen = await notes.create({ title: 'One' })
    const write = (ifUnchanged: boolean) =>
      client.batch((b) => [b.notes.create({ title: 'Two' }), b.notes.get(seen, { ifUnchanged })])
    const [, same] = await write(true)
    expect(same).toEqual(seen)
    const now = await notes.update(seen._id, { views: 1 })
    expect(await caught(write(true))).toMatchObject({ code: 'precondition_failed', operation: 1 })
    expect(await notes.count()).toBe(2)
    const [, changed] = await write(false)
    expect(changed).toEqual(now)
    expect(sentBy(world)).toMatchObject({ operations: [{}, { method: 'GET', path: `/notes/${seen._id}` }] })
  })

  test('cannot be a condition where its state is unknown', async () => {
    const { client, notes, seen } = setUp()
    const { _id } = await notes.create({ title: 'One' })
    const [listed = { _id }] = await notes.list()
    const expanded = await notes.get(_id, { expand: ['author'] })
    for (const unknown of [_id, { _id }, listed, expanded]) {
      const asked = client.batch((b) => [b.notes.get(unknown, { ifUnchanged: true })])
      expect(await caught(asked)).toBeInstanceOf(TypeError)
    }
    expect(seen).toHaveLength(3)
  })
})

describe('a refusal of a batch', () => {
  test('names the first operation that is refused, and nothing of the batch stays', async () => {
    const { client, notes } = setUp()
    const thrown = await caught(
      client.batch((b) => [
        b.notes.create({ title: 'One' }),
        b.notes.create({ title: 'Two', views: -1 }),
        b.notes.delete(randomUUID()),
      ]),
    )
    expect(thrown).toMatchObject({
      name: 'ClientError',
      status: 400,
      code: 'validation_failed',
      operation: 1,
      errors: [{ path: '/operations/1/body/views', code: 'too_small' }],
    })
    expect(await notes.count()).toBe(0)
    const absent = client.batch((b) => [b.notes.create({ title: 'One' }), b.notes.get(randomUUID())])
    expect(await caught(absent)).toMatchObject({ status: 404, code: 'not_found', operation: 1 })
    const hidden = client.batch((b) => [b.hidden.create({ text: 'x' })])
    expect(await caught(hidden)).toMatchObject({ status: 401, code: 'unauthenticated', operation: 0 })
  })

  test('of a call alone names no operation', async () => {
    const { notes } = setUp()
    expect(await caught(notes.get('x'))).toMatchObject({ code: 'not_found', operation: undefined })
  })

  test.each<[string, unknown]>([
    ['nothing', null],
    ['no results', {}],
    ['too few results', { results: [{ status: 201, body: { _id: 'x' } }] }],
    ['too many', { results: [{ body: { _id: 'x' } }, { body: { _id: 'y' } }, { body: { _id: 'z' } }] }],
    ['a result that is not a document', { results: [{ body: { _id: 'x' } }, { body: 'x' }] }],
    ['a result that is null', { results: [{ body: { _id: 'x' } }, null] }],
    ['text of the right length', { results: 'ab' }],
  ])('an answer of %s is not the service’s', async (_, body) => {
    const client = createClient<{ readonly notes: Note }>(async () => Response.json(body))
    expect(await caught(client.batch((b) => [b.notes.create({}), b.notes.get('x')]))).toMatchObject({
      status: 200,
      code: 'unexpected_answer',
      operation: undefined,
    })
  })
})
