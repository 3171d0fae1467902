import { describe, expect, test } from 'vitest'
import type { Caller, ServiceOptions } from '../../src/index.js'
import { describeApi } from '../../src/tools/openapi/describe-api.js'
import { type AnyConfig, createTestService, type SendOptions } from '../support/service.js'

// CONTRACT.md §8, "OpenAPI"

const config = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', format: 'email', unique: true, required: true },
        password: { type: 'hash', required: true, minLength: 8 },
        role: { type: 'string', enum: ['editor'] },
        salary: { type: 'integer' },
      },
      permissions: { owner: { read: { omit: ['salary'] } }, editor: { read: true } },
    },
    articles: {
      schema: {
        title: { type: 'string', required: true, maxLength: 200 },
        status: { type: 'string', enum: ['draft', 'published'], default: 'draft' },
        views: { type: 'integer', minimum: 0 },
        author: { type: 'reference', collection: 'users' },
        slug: { type: 'string', immutable: true, pattern: '^[a-z-]+$' },
        notes: { type: 'object', properties: { text: { type: 'string' } } },
      },
      permissions: {
        '*': { read: { pick: ['title', 'author'] } },
        user: { create: { pick: ['title', 'slug'] } },
        owner: { read: true, update: { pick: ['title', 'slug', 'notes'] } },
        editor: { read: true, update: { pick: ['status'] }, delete: true },
      },
    },
    vault: { schema: { text: { type: 'string' } }, permissions: { editor: { read: true } } },
  },
  auth: { roleField: 'role' },
} as const satisfies AnyConfig

const ANN: Caller = { id: 'ann' }
const EDITOR: Caller = { id: 'ed', roles: ['editor'] }

const ask = async (sent: SendOptions = {}, options: ServiceOptions = {}, line = 'GET /_openapi.json') =>
  createTestService(config, { openapi: true, ...options }).send(line, sent)

/** The operations of a document, as its reader finds them. */
const operationsOf = ({ paths }: { paths: object }): readonly string[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )

describe('GET /_openapi.json', () => {
  test('is not there without the option', async () => {
    expect((await ask({}, { openapi: false })).status).toBe(404)
    expect((await createTestService(config).send('GET /_openapi.json')).status).toBe(404)
    expect((await createTestService(config).send('OPTIONS /_openapi.json')).status).toBe(404)
  })

  test('takes GET and HEAD, and no parameter', async () => {
    const { send } = createTestService(config, { openapi: true })
    expect((await send('OPTIONS /_openapi.json')).headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    expect((await send('POST /_openapi.json')).status).toBe(405)
    expect((await send('GET /_openapi.json?x=1')).body.code).toBe('invalid_query')
    expect((await send('HEAD /_openapi.json')).status).toBe(200)
  })

  test('the first requests get the description that later requests get', async () => {
    const { send } = createTestService(config, { openapi: true })
    expect((await send('GET /_openapi.json', { headers: { 'if-match': '"x"' } })).status).toBe(412)
    const fresh = createTestService(config, { openapi: true })
    const first = await Promise.all(
      [null, ANN, EDITOR, null].map((caller) => fresh.send('GET /_openapi.json', { caller })),
    )
    for (const [i, caller] of [null, ANN, EDITOR, null].entries()) {
      const later = await fresh.send('GET /_openapi.json', { caller })
      expect(first[i]?.status).toBe(200)
      expect(first[i]?.text).toBe(later.text)
      expect(first[i]?.headers.get('etag')).toBe(later.headers.get('etag'))
    }
  })

  test('is for the one who asks, and says so to caches', async () => {
    const { send } = createTestService(config, { openapi: true })
    const [nobody, ann] = [
      await send('GET /_openapi.json'),
      await send('GET /_openapi.json', { caller: ANN }),
    ]
    expect(nobody.status).toBe(200)
    expect(nobody.headers.get('content-type')).toBe('application/json')
    expect(nobody.headers.get('cache-control')).toBe('no-cache')
    expect(ann.headers.get('cache-control')).toBe('no-store')
    expect(nobody.headers.get('etag')).not.toBe(ann.headers.get('etag'))
    const etag = nobody.headers.get('etag') ?? ''
    const again = await send('GET /_openapi.json', { headers: { 'if-none-match': etag } })
    expect([again.status, again.text]).toEqual([304, ''])
    expect((await send('GET /_openapi.json', { headers: { 'if-match': '"x"' } })).status).toBe(412)
  })

  test.each<[who: string, caller: Caller | null]>([
    ['nobody', null],
    ['a user', ANN],
    ['an editor', EDITOR],
  ])('is what describeApi gives for %s', async (_, caller) => {
    const options = { authenticate: () => caller, accounts: true, basePath: '/api' }
    const { body } = await ask({}, options, 'GET /api/_openapi.json')
    expect(body).toEqual(
      describeApi(config, { caller, authenticate: true, accounts: true, basePath: '/api' }),
    )
    expect(body.servers).toEqual([{ url: '/api' }])
  })

  test('a handler for a caller has no accounts, and describes none', async () => {
    const { body } = await ask({ caller: ANN })
    expect(operationsOf(body).filter((one) => one.includes('/auth'))).toEqual([])
  })
})

describe('the description', () => {
  test('holds the operations that the reader has a right to', () => {
    const own = (caller: Caller | null) =>
      operationsOf(describeApi(config, { caller })).filter((one) => /articles|vault|users/.test(one))
    expect(own(null)).toEqual([
      'GET /articles',
      'GET /articles/aggregate',
      'GET /articles/count',
      'GET /articles/{id}',
    ])
    expect(own(ANN)).toEqual([
      'GET /users',
      'GET /articles',
      'POST /articles',
      'GET /users/aggregate',
      'GET /articles/aggregate',
      'GET /users/count',
      'GET /articles/count',
      'POST /articles/bulk',
      'GET /users/{id}',
      'GET /articles/{id}',
      'PATCH /articles/{id}',
      'PUT /articles/{id}',
    ])
    expect(own(EDITOR)).toEqual(
      expect.arrayContaining(['GET /vault', 'DELETE /articles/{id}', 'PATCH /articles/{id}']),
    )
  })

  test('for all callers together holds what any of them may do', () => {
    const all = operationsOf(describeApi(config))
    for (const caller of [null, ANN, EDITOR])
      expect(all).toEqual(expect.arrayContaining([...operationsOf(describeApi(config, { caller }))]))
  })

  test('names no field and no collection that the reader can neither read nor write', () => {
    const text = JSON.stringify(describeApi(config, { caller: null }))
    for (const name of ['salary', 'vault', 'slug', 'views', 'draft', 'notes'])
      expect(text).not.toContain(name)
    const ann = JSON.stringify(describeApi(config, { caller: ANN }))
    for (const name of ['salary', 'vault']) expect(ann).not.toContain(name)
    for (const name of ['slug', 'views', 'draft', 'notes']) expect(ann).toContain(name)
  })

  test('has a parameter for each readable path and operator', () => {
    const { components } = describeApi(config, { caller: EDITOR })
    const names = Object.values(components.parameters ?? {}).map(({ name }) => name)
    const of = (path: string) => names.filter((name) => String(name).startsWith(`q[${path}]`))
    expect(of('views')).toEqual(
      ['$eq', '$ne', '$gt', '$gte', '$lt', '$lte', '$in', '$nin', '$exists'].map(
        (name) => `q[views][${name}]`,
      ),
    )
    expect(of('notes')).toEqual(['q[notes][$exists]'])
    expect(of('notes.text')).toContain('q[notes.text][$regex]')
    expect(of('text')).toContain('q[text][$options]')
    expect(names).toEqual(
      expect.arrayContaining(['sort[title]', 'project', 'expand', 'skip', 'limit', 'total']),
    )
    expect(components.parameters).toMatchObject({
      'articles.q.views.eq': {
        in: 'query',
        content: { 'application/json': { schema: { anyOf: [{ type: 'integer' }, { type: 'null' }] } } },
      },
      'articles.q.title.gte': { content: { 'application/json': { schema: { type: 'string' } } } },
      // The same as JSON and in a form.
      'articles.q.views.gte': { in: 'query', schema: { type: 'integer' } },
      'service.q.createdAt.gte': { schema: { anyOf: [{ type: 'string' }, { type: 'string' }] } },
      'articles.q.title.exists': { schema: { type: 'boolean' } },
    })
  })

  test('has a list as a parameter that is repeated, with at least one value and no more than a query may have', () => {
    const { parameters = {} } = describeApi(
      { ...config, limits: { values: 7 } },
      { caller: EDITOR },
    ).components
    const repeated = { in: 'query', style: 'form', explode: true }
    for (const operator of ['in', 'nin'])
      expect(parameters[`articles.q.views.${operator}`]).toMatchObject({
        ...repeated,
        schema: { type: 'array', items: { type: 'integer' }, minItems: 1, maxItems: 7 },
      })
    expect(parameters['articles.q.title.in']?.schema).toEqual({
      type: 'array',
      items: { type: 'string', pattern: '^(?!["\\[{])[^\\x00]*$', not: { enum: ['null'] } },
      minItems: 1,
      maxItems: 7,
    })
    for (const [name, names] of [
      ['project', ['_id', 'title']],
      ['expand', ['author']],
    ] as const)
      expect(parameters[`articles.${name}`]).toMatchObject({
        ...repeated,
        schema: {
          type: 'array',
          items: { type: 'string', enum: expect.arrayContaining([...names]) },
          minItems: 1,
        },
      })
    const isContent = Object.values(parameters).filter(({ content }) => content !== undefined)
    expect(isContent.filter(({ content }) => JSON.stringify(content).includes('"array"'))).toEqual([])
  })

  test('bodies hold what a rule accepts, and ask for what it needs', () => {
    const { components } = describeApi(config, { caller: ANN })
    const { schemas = {} } = components
    expect(schemas['articles.create']).toMatchObject({ required: ['title'], additionalProperties: false })
    expect(Object.keys(schemas['articles.create']?.properties ?? {})).toEqual(['title', 'slug'])
    expect(Object.keys(schemas['articles.patch']?.properties ?? {})).toEqual(['title', 'notes'])
    expect(schemas['articles.replace']).toMatchObject({ required: ['title'] })
    expect(schemas.articles).toMatchObject({ required: ['_id'], additionalProperties: false })
  })

  test('a reference names its target only to who may read it', () => {
    const refers = (caller: Caller | null) => {
      const { schemas = {} } = describeApi(config, { caller }).components
      const { author }: { author?: object } = schemas.articles?.properties ?? {}
      return [author, 'articles.expanded' in schemas]
    }
    expect(refers(null)).toEqual([{ type: 'string' }, false])
    expect(refers(EDITOR)).toEqual([{ type: 'string', 'x-collection': 'users' }, true])
  })
})
