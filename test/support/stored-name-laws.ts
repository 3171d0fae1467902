import { expect, vi } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import {
  type ConsumerChange,
  type ConsumerContext,
  createCollectionService,
  createMemoryAdapter,
  type HookChange,
  type StorageAdapter,
} from '../../src/index.js'
import { readStream } from './event-streams.js'
import { type AnyConfig, createTestService, type TestService } from './service.js'

/**
 * Fields and collections that were renamed (CONTRACT.md §1, "Stored names"), whatever the storage. Mutants have to break
 * one of these.
 */

const text = { type: 'string' } as const
const all = { '*': true } as const

export const BEFORE: AnyConfig = {
  collections: {
    users: {
      schema: {
        mail: { ...text, unique: true, required: true },
        password: { type: 'hash', required: true },
        role: text,
      },
      permissions: { '*': { read: true, delete: true } },
    },
    posts: {
      schema: {
        title: { ...text, unique: true, required: true },
        body: text,
        tags: { type: 'array', items: text, maxItems: 10, index: true },
        place: { type: 'object', properties: { street: text, city: text } },
        links: { type: 'array', items: { type: 'object', properties: { to: text, label: text } } },
        author: { type: 'reference', collection: 'users' },
      },
      permissions: all,
      changes: true,
    },
  },
  auth: { roleField: 'role' },
}

export const AFTER: AnyConfig = {
  collections: {
    users: {
      stored: 'users',
      schema: {
        email: { ...text, unique: true, required: true, stored: 'mail' },
        secret: { type: 'hash', required: true, stored: 'password' },
        rank: { ...text, stored: 'role' },
      },
      permissions: { '*': { read: true, delete: true } },
    },
    articles: {
      stored: 'posts',
      schema: {
        headline: { ...text, unique: true, required: true, stored: 'title' },
        // Two names are exchanged.
        labels: { type: 'array', items: text, maxItems: 10, index: true, stored: 'tags' },
        text: { ...text, stored: 'body' },
        address: {
          type: 'object',
          stored: 'place',
          properties: { city: { ...text, stored: 'street' }, street: { ...text, stored: 'city' } },
        },
        links: {
          type: 'array',
          items: { type: 'object', properties: { target: { ...text, stored: 'to' }, label: text } },
        },
        writer: { type: 'reference', collection: 'users', stored: 'author' },
      },
      permissions: all,
      changes: true,
    },
  },
  auth: { roleField: 'rank' },
}

/** How services are opened, one after another, over one storage. */
export interface Renamed {
  readonly connect: () => StorageAdapter
  readonly create?: typeof createCollectionService
  /** Takes the services that are to be closed. */
  readonly opened: TestService[]
}

const openOver =
  ({ create, opened }: Renamed) =>
  async (config: AnyConfig, adapter: StorageAdapter, options: object = {}): Promise<TestService> => {
    const service = createTestService(config, {
      ...(create ? { create } : {}),
      adapter,
      openapi: true,
      ...options,
    })
    opened.push(service)
    await service.handler.ready()
    return service
  }

type Law = readonly [what: string, check: (renamed: Renamed) => Promise<void>]

export const STORED_NAME_LAWS: readonly Law[] = [
  [
    'what was stored under the earlier names is there under the new ones',
    async (over) => {
      const { connect } = over
      const open = openOver(over)
      const old = await open(BEFORE, connect())
      const { id: author } = await old.register({ mail: 'ann@example.com', password: 'correct horse' })
      const post = {
        title: 'One',
        body: 'text',
        tags: ['a', 'b'],
        place: { street: 'Elm', city: 'Ulm' },
        links: [{ to: 'x', label: 'X' }],
        author,
      }
      const { body: made } = await old.send('POST /posts', { body: post })
      await old.send('POST /posts', { body: { title: 'Two' } })
      const cursor = (await old.send('GET /posts?sort[title]=asc&limit=1')).headers.get('next-cursor')
      const kept = (await old.send('GET /posts?sort[createdAt]=asc&limit=1')).headers.get('next-cursor')

      const now = await open(AFTER, connect())
      const { title, body, tags, place, links, author: __, ...system } = made
      const renamed = {
        ...system,
        headline: 'One',
        text: 'text',
        labels: ['a', 'b'],
        address: { city: 'Elm', street: 'Ulm' },
        links: [{ target: 'x', label: 'X' }],
        writer: author,
      }
      expect((await now.send(`GET /articles/${made._id}`)).body).toEqual(renamed)
      for (const query of [
        'q[headline]=One',
        'q[headline][$regex]=^On',
        'q[labels]=b',
        'q[address.city]=Elm',
        `q[writer]=${author}`,
        'sort[headline]=asc&limit=1',
        'q[text][$exists]=true',
      ])
        expect((await now.send(`GET /articles?${query}`)).body, query).toEqual([renamed])
      expect((await now.send('GET /articles?project=headline&sort[headline]=desc')).body).toMatchObject([
        { headline: 'Two' },
        { headline: 'One' },
      ])
      const [expanded] = (await now.send('GET /articles?q[headline]=One&expand=writer')).body
      expect(expanded.writer).toMatchObject({ _id: author, email: 'ann@example.com' })
      expect((await now.send(`GET /articles?sort[headline]=asc&after=${cursor}`)).body.errors).toMatchObject([
        { code: 'wrong_cursor' },
      ])
      expect((await now.send(`GET /articles?sort[createdAt]=asc&after=${kept}`)).body).toMatchObject([
        { headline: 'Two' },
      ])
      expect((await now.send('GET /posts')).status).toBe(404)
      expect((await now.send('GET /articles?q[title]=One')).body.errors).toMatchObject([
        { code: 'unknown_field' },
      ])
    },
  ],
  [
    'writes, accounts and errors use the declared names, and stored documents the earlier ones',
    async (over) => {
      const { connect } = over
      const open = openOver(over)
      const old = await open(BEFORE, connect())
      const { id } = await old.register({ mail: 'ann@example.com', password: 'correct horse' })
      await old.send('POST /posts', { body: { title: 'One', author: id } })
      const adapter = connect()
      const now = await open(AFTER, adapter)
      const login = await now.send('POST /auth/login', {
        body: { email: 'ann@example.com', secret: 'correct horse' },
      })
      expect(login).toMatchObject({ status: 200, body: { user: { email: 'ann@example.com' } } })
      expect((await now.send('POST /articles', { body: { headline: 'One' } })).body).toMatchObject({
        code: 'unique_violation',
        errors: [{ path: '/headline' }],
      })
      expect((await now.send('POST /articles', { body: { title: 'x' } })).body.errors).toMatchObject([
        { path: '/title', code: 'unknown_property' },
        { path: '/headline', code: 'required' },
      ])
      const { body } = await now.send('POST /articles', {
        body: { headline: 'New', address: { city: 'c', street: 's' }, links: [{ target: 't' }], writer: id },
      })
      const path = `/articles/${body._id}`
      expect((await now.send(`PATCH ${path}`, { body: { address: { street: null } } })).body.address).toEqual(
        {
          city: 'c',
        },
      )
      const [stored] = await adapter.list('posts', {
        filter: { kind: 'eq', field: { path: 'title', type: 'string', each: false }, value: 'New' },
        sort: [],
        skip: 0,
        limit: null,
      })
      expect(stored).toMatchObject({ title: 'New', place: { street: 'c' }, links: [{ to: 't' }], author: id })
      expect(Object.keys(stored ?? {})).not.toContain('headline')
      expect((await now.send(`DELETE /users/${id}`)).body.code).toBe('reference_in_use')
      const description = (await now.send('GET /openapi.json')).text
      for (const name of ['title', 'mail', 'posts', 'stored'])
        expect(description).not.toContain(`"${name}":{"type"`)
    },
  ],
  [
    'changes are told under the declared names',
    async (over) => {
      const { connect } = over
      const open = openOver(over)
      const old = await open(BEFORE, connect())
      await old.send('POST /posts', { body: { title: 'One', body: 'a' } })
      const now = await open(AFTER, connect())
      const stream = readStream(await now.handler(new Request('http://service.test/articles/changes')))
      const { body } = await now.send('POST /articles', {
        body: { headline: 'Two', address: { city: 'Elm' } },
      })
      await now.send(`PATCH /articles/${body._id}`, { body: { text: 'b' } })
      await vi.waitFor(() => expect(stream.events.at(-1)?.data).toMatchObject({ headline: 'Two', text: 'b' }))
      await stream.close()
      expect(stream.text).not.toContain('title')
      expect(stream.events.at(-1)?.data.address).toEqual({ city: 'Elm' })
    },
  ],
  [
    'a change handler gets the changes that have waited since before a rename, with the same ids',
    async (over) => {
      const { connect } = over
      const open = openOver(over)
      const told: (readonly [ConsumerChange, string])[] = []
      const consume = (collection: string, isReady: boolean) => ({
        consumers: {
          mail: {
            collections: [collection],
            handle(change: ConsumerChange, { id }: ConsumerContext) {
              told.push([change, id])
              if (!isReady) throw new Error('not yet')
            },
          },
        },
      })
      const old = await open(BEFORE, connect(), consume('posts', false))
      await old.send('POST /posts', { body: { title: 'One' } })
      await vi.waitFor(() => expect(told).toHaveLength(1), 10_000)
      await old.handler.close()
      const now = await open(AFTER, connect(), consume('articles', true))
      await now.send('POST /articles', { body: { headline: 'Two' } })
      const again = () =>
        Object.fromEntries(
          told.flatMap(([{ collection, after }, id]) =>
            collection === 'articles' ? [[after?.headline, id]] : [],
          ),
        )
      await vi.waitFor(() => expect(again()).toEqual({ One: told[0]?.[1], Two: expect.any(String) }), 10_000)
    },
  ],
  [
    'a stored property with the name of a renamed field is shown to nobody, and stays',
    async (over) => {
      const { connect } = over
      const open = openOver(over)
      const open1 = (schema: object) =>
        open({ collections: { notes: { schema, permissions: all, additionalProperties: true } } }, adapter)
      const adapter = connect()
      const old = await open1({ title: text, place: { type: 'object', properties: { a: text, b: text } } })
      const body = { title: 'told', headline: 'hidden', free: 1, place: { a: 'x', b: 'hidden' } }
      const { _id } = (await old.send('POST /notes', { body })).body
      const seen: unknown[] = []
      const now = await open(
        {
          collections: {
            notes: {
              schema: {
                headline: { ...text, stored: 'title' },
                place: { type: 'object', properties: { b: { ...text, stored: 'a' } } },
              },
              permissions: all,
              additionalProperties: true,
            },
          },
        },
        adapter,
        {
          hooks: { notes: { before: ({ before, after }: HookChange) => void seen.push([before, after]) } },
        },
      )
      const shown = { headline: 'told', free: 1, place: { b: 'x' } }
      expect((await now.send(`GET /notes/${_id}`)).body).toMatchObject(shown)
      for (const line of [`PATCH /notes/${_id}`, `PUT /notes/${_id}`]) {
        const answer = await now.send(line, { body: { headline: 'new', place: { b: 'y' } } })
        expect(answer.body).toMatchObject({ headline: 'new', place: { b: 'y' } })
        expect(answer.text).not.toContain('hidden')
      }
      expect(seen.length).toBe(2)
      expect(JSON.stringify(seen)).not.toContain('hidden')
      const [stored] = await adapter.list('notes', { filter: everything, sort: [], skip: 0, limit: null })
      expect(stored).toMatchObject({ title: 'new', headline: 'hidden', place: { a: 'y', b: 'hidden' } })
      // The stored name of a field is no free name.
      for (const value of ['x', null])
        expect((await now.send(`PATCH /notes/${_id}`, { body: { title: value } })).body.errors).toMatchObject(
          [{ path: '/title', code: 'unknown_property' }],
        )
    },
  ],
  [
    'first documents have the declared names, and are stored once',
    async ({ create, opened }) => {
      const adapter = createMemoryAdapter({ documents: { articles: [{ headline: 'One' }] } })
      const open = openOver({ connect: () => adapter, opened, ...(create ? { create } : {}) })
      const schema = { headline: { ...text, stored: 'title' } }
      const config = { collections: { articles: { stored: 'posts', schema, permissions: all } } }
      for (const service of [await open(config, adapter), await open(config, adapter)])
        expect(await service.list('/articles', 'headline')).toEqual(['One'])
    },
  ],
  [
    'no two fields have one stored name',
    async ({ create = createCollectionService }) => {
      const schema = { title: text, headline: { ...text, stored: 'title' } }
      expect(() => create({ collections: { notes: { schema } } })).toThrow(
        'is the stored name of "title" too',
      )
    },
  ],
]
