import { describe, expect, test, vi } from 'vitest'
import { ConfigError, createCollectionService, createMemoryAdapter } from '../../src/index.js'
import { createTestHasher } from '../../src/tools/testing/index.js'
import { replaceMethods } from '../support/stored.js'
import { ann, config } from './support/http.js'

describe('creating a service', () => {
  const plain = {
    collections: {
      items: { schema: { title: { type: 'string' } }, permissions: { '*': { pick: ['title'] } } },
    },
  }

  test('a configuration alone is enough', async () => {
    const handler = createCollectionService(plain)
    const create = () => handler(new Request('http://x/items', { method: 'POST', body: '{"title":"x"}' }))
    expect((await create()).status).toBe(201)
    expect(await (await handler(new Request('http://x/items/count'))).json()).toEqual({ total: 1 })
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['text', 'config.json'],
    ['a list', []],
    ['an empty object', {}],
    ['a function', () => plain],
    ['a promise', Promise.resolve(plain)],
    ['a map', new Map()],
    ['collections that are a list', { collections: [] }],
    ['a collection without a schema', { collections: { items: {} } }],
    ['a function inside', { collections: { items: { schema: () => ({}) } } }],
    [
      'a date inside',
      { collections: { items: { schema: { a: { type: 'timestamp', default: new Date(0) } } } } },
    ],
    ['a number that is no JSON', { ...plain, limits: { values: Number.NaN } }],
    [
      'itself inside',
      Object.assign(
        { collections: {} },
        {
          get limits() {
            return this
          },
        },
      ),
    ],
  ])('what is no configuration is a ConfigError: %s', (_, wrong) => {
    expect(() => createCollectionService(wrong as typeof plain)).toThrow(ConfigError)
  })

  test('all faults are listed, each with its place', () => {
    const wrong = {
      collection: {},
      collections: {
        auth: { schema: {} },
        '1st': { schema: {} },
        items: {
          schema: { title: { type: 'strin' }, other: { type: 'string', uniqe: true } },
          permissions: { user: { reed: true } },
        },
        Items: { schema: {} },
      },
      limits: { bodyBytes: 0, bodybytes: 5 },
      auth: { cost: 9, sessionDays: 0 },
    }
    let faults: readonly string[] = []
    try {
      createCollectionService(wrong)
    } catch (thrown) {
      expect(thrown).toMatchObject({ code: 'invalid_config' })
      faults = (thrown as ConfigError).faults.map(({ path }) => path)
    }
    expect([...faults].sort()).toEqual([
      '/auth/cost',
      '/auth/sessionDays',
      '/collection',
      '/collections/1st',
      '/collections/Items',
      '/collections/auth',
      '/collections/items/permissions/user/reed',
      '/collections/items/schema/other/uniqe',
      '/collections/items/schema/title/type',
      '/limits/bodyBytes',
      '/limits/bodybytes',
    ])
  })

  test.each<[string, object, string]>([
    ['a default above the maximum', { defaultLimit: 3, maxLimit: 2 }, '/limits/defaultLimit'],
    ['a limit of nothing', { maxLimit: 0 }, '/limits/maxLimit'],
    ['a part of a document', { defaultLimit: 1.5 }, '/limits/defaultLimit'],
    ['text', { values: '100' }, '/limits/values'],
    ['no time at all', { requestSeconds: 0 }, '/limits/requestSeconds'],
  ])('limits that cannot be: %s', (_, limits, path) => {
    try {
      createCollectionService({ ...plain, limits })
    } catch (thrown) {
      expect((thrown as ConfigError).faults.map((fault) => fault.path)).toEqual([path])
      return
    }
    expect.unreachable()
  })

  test('the configuration is copied: what happens to it later changes nothing', async () => {
    const own = structuredClone(plain)
    const handler = createCollectionService(own)
    own.collections.items.permissions['*'].pick = []
    Object.assign(own.collections.items.schema.title, { type: 'integer' })
    const response = await handler(new Request('http://x/items', { method: 'POST', body: '{"title":"x"}' }))
    expect(await response.json()).toMatchObject({ title: 'x' })
  })

  test('$schema is ignored, and so is what is undefined', () => {
    expect(() => createCollectionService({ $schema: './any.json', auth: undefined, ...plain })).not.toThrow()
  })

  test.each<[string, object, string]>([
    ['where', { '*': { read: { where: undefined } } }, '/*/read/where'],
    ['a condition', { '*': { read: { where: { title: undefined } } } }, '/*/read/where/title'],
    [
      'a half of a range',
      { '*': { read: { where: { title: { $gt: 'a', $lt: undefined } } } } },
      '/*/read/where/title/$lt',
    ],
    ['check', { '*': { create: { check: undefined } } }, '/*/create/check'],
    ['pick', { '*': { read: { pick: undefined } } }, '/*/read/pick'],
    ['omit', { '*': { omit: undefined } }, '/*/omit'],
    ['a value of set', { '*': { create: { set: { title: undefined } } } }, '/*/create/set/title'],
    ['a grant', { user: true, '*': undefined }, '/*'],
  ])('what a rule lacks is not taken for nothing: %s', (_, permissions, at) => {
    const items = { schema: { title: { type: 'string' } }, permissions }
    expect(() => createCollectionService({ collections: { items } } as never)).toThrow(
      `/collections/items/permissions${at}: is undefined`,
    )
  })

  test('nor what a claim lacks', () => {
    const claims = { teams: { from: 'items', where: { title: undefined }, take: 'title' } }
    expect(() => createCollectionService({ ...plain, auth: { claims } } as never)).toThrow(
      '/auth/claims/teams/where/title: is undefined',
    )
  })

  test('verifiedField is null where there is none', () => {
    const auth = { verifiedField: null, requireVerified: false, claims: {} }
    expect(() => createCollectionService({ ...plain, auth })).not.toThrow()
    expect(() => createCollectionService({ ...plain, auth: { ...auth, requireVerified: true } })).toThrow(
      'needs auth.verifiedField',
    )
  })

  test('an index has no more fields than every storage can take', () => {
    const names = Array.from({ length: 32 }, (_, i) => `f${i}`)
    const schema = Object.fromEntries(names.map((name) => [name, { type: 'integer' }]))
    const open = (fields: readonly string[]) => (): unknown =>
      createCollectionService({ collections: { items: { schema, indexes: [{ fields }] } } } as never)
    expect(open(names.slice(1))).not.toThrow()
    expect(open(names)).toThrow('/collections/items/indexes/0/fields')
  })

  test('open doors are a fault where NODE_ENV says production, unless options.production says otherwise', () => {
    const open = { collections: { items: { schema: {}, permissions: { '*': true } } } }
    const logger = { warn() {} }
    vi.stubEnv('NODE_ENV', 'production')
    try {
      expect(() => createCollectionService(open, undefined, { logger })).toThrow(ConfigError)
      expect(() => createCollectionService(open, undefined, { logger, production: false })).not.toThrow()
    } finally {
      vi.unstubAllEnvs()
    }
    expect(() => createCollectionService(open, undefined, { logger })).not.toThrow()
  })

  const loud = { collections: { items: { schema: {}, permissions: { '*': true } } } }
  class ClassLogger {
    readonly lines: string[] = []
    info(message: string): void {
      this.lines.push(`info ${message}`)
    }
    warn(message: string): void {
      this.lines.push(`warn ${message}`)
    }
    error(message: string): void {
      this.lines.push(`error ${message}`)
    }
  }

  test('a logger may be an instance of a class', async () => {
    const logger = new ClassLogger()
    const fallback = [vi.spyOn(console, 'warn'), vi.spyOn(console, 'error')].map((spy) =>
      spy.mockImplementation(() => {}),
    )
    try {
      const list = () => Promise.reject(new Error('x'))
      const adapter = replaceMethods(createMemoryAdapter(), { list })
      const handler = createCollectionService(loud, adapter, { logger, production: false })
      expect((await handler(new Request('http://x/items'))).status).toBe(500)
      expect(logger.lines.map((line) => line.split(' ')[0])).toEqual(['warn', 'error'])
      for (const spy of fallback) expect(spy).not.toHaveBeenCalled()
    } finally {
      for (const spy of fallback) spy.mockRestore()
    }
  })

  test('nothing but a ConfigError is thrown, even where the logger fails', () => {
    const warn = (): never => {
      throw new Error('disk full')
    }
    expect(() =>
      createCollectionService(loud, createMemoryAdapter(), { logger: { warn }, production: false }),
    ).not.toThrow()
  })

  test('a hasher, a clock and a log of the host are used', async () => {
    const { hash, verify } = createTestHasher()
    const hashed: string[] = []
    const handler = createCollectionService(config, createMemoryAdapter(), {
      hasher: {
        hash: (secret, signal) => {
          hashed.push(secret)
          return hash(secret, signal)
        },
        verify,
      },
      now: () => 86_400_000,
      logger: {},
    })
    const response = await handler(
      new Request('http://x/auth/register', { method: 'POST', body: JSON.stringify(ann) }),
    )
    expect(await response.json()).toMatchObject({ user: { createdAt: '1970-01-02T00:00:00.000Z' } })
    expect(hashed).toEqual(['secret'])
  })
})
