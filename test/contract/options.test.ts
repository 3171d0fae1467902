import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import {
  ConfigError,
  type ConfigFault,
  createCollectionService,
  createMemoryAdapter,
  type Logger,
  type ServiceOptions,
  type StorageAdapter,
} from '../../src/index.js'
import { createTestHasher } from '../../src/tools/testing/index.js'
import { createTestService, type TestService } from '../support/service.js'

// CONTRACT.md §7, "Options"

const config = {
  collections: {
    things: { schema: { x: { type: 'string' } }, permissions: { '*': { read: true, create: true } } },
  },
}

const accounts = {
  collections: {
    users: {
      schema: { email: { type: 'string', unique: true, lowercase: true }, password: { type: 'hash' } },
      permissions: { owner: { read: true } },
    },
  },
}

/** What is wrong with an adapter and options of whatever type; anything but a `ConfigError` is thrown on. */
function judge(adapter: unknown, options: unknown): readonly ConfigFault[] {
  try {
    createCollectionService(config, adapter as StorageAdapter, options as ServiceOptions)
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.faults
    throw thrown
  }
  return []
}

const pathsOf = (faults: readonly ConfigFault[]): string[] => faults.map(({ path }) => path)

describe('options', () => {
  test.each([
    ['null', null],
    ['a number', 5],
    ['text', 'production'],
    ['true', true],
    ['an array', []],
  ])('that are no object are refused: %s', (_, options) => {
    expect(pathsOf(judge(createMemoryAdapter(), options))).toEqual(['options'])
  })

  test.each([
    ['authentcate', 'authenticate'],
    ['basepath', 'basePath'],
    ['clientAdress', 'clientAddress'],
    ['hashers', 'hasher'],
    ['Logger', 'logger'],
    ['prodution', 'production'],
    ['account', 'accounts'],
  ])('with an unknown name are refused, and the nearest name is told: %s', (name, nearest) => {
    const faults = judge(createMemoryAdapter(), { [name]: true })
    expect(pathsOf(faults)).toEqual([`options.${name}`])
    expect(faults[0]?.message).toContain(JSON.stringify(nearest))
  })

  test.each(['toString', 'constructor', 'hasOwnProperty', 'somethingElseAltogether', ''])(
    'with a name that is near none, or inherited, are refused: %j',
    (name) => {
      expect(pathsOf(judge(createMemoryAdapter(), { [name]: undefined }))).toEqual([`options.${name}`])
    },
  )

  test.each<[name: string, values: readonly unknown[]]>([
    ['authenticate', [null, true, 'ann', { id: 'ann' }]],
    ['accounts', [null, 'true', 1]],
    [
      'basePath',
      [
        null,
        5,
        true,
        [],
        ['/api'],
        'api',
        '/日本',
        '/a b',
        '/a?b',
        '/a#b',
        '/a//b',
        'http://a.b/c',
        '/..',
        '/./a',
      ],
    ],
    ['cors', [null, true, '*', 'https://a.example', ['https://a.example'], {}]],
    ['clientAddress', [null, '127.0.0.1', {}]],
    ['hasher', [null, 'bcrypt', {}, { hash() {} }, { verify() {} }, { hash: true, verify: true }]],
    ['logger', [null, 'console', true, () => {}]],
    ['production', [null, 'true', 'production', 1]],
    ['now', [null, 0, '2026-11-20', new Date(0)]],
  ])('of a wrong type are refused: %s', (name, values) => {
    const found = values.map((value) => pathsOf(judge(createMemoryAdapter(), { [name]: value })))
    expect(found).toEqual(values.map(() => [`options.${name}`]))
  })

  test.each([
    ['text', 'https://a.example'],
    ['no list', null],
    ['a list of anything but text', ['https://a.example', 5]],
    ['an object', { 0: '*' }],
    ['a list of any', ['*']],
    ['an address with a slash', ['https://a.example/']],
    ['an address with a path', ['https://a.example/x']],
    ['a host alone', ['a.example']],
    ['upper case', ['https://A.example']],
    ['a pattern', ['https://*.example']],
    ['nothing', ['']],
    ['a port that goes without saying', ['http://a.example:80']],
    ['another', ['https://a.example:443']],
    ['a host that is not ASCII', ['https://\u00e4.example']],
    ['a host that is not written out', ['http://127.1']],
  ])('cors.origins is an array of origins or "*", not %s', (_, origins) => {
    expect(pathsOf(judge(createMemoryAdapter(), { cors: { origins } }))).toEqual(['options.cors'])
  })

  test.each<[what: string, cors: object]>([
    ['credentials', { origins: '*', credentials: true }],
    ['a misspelt member', { origins: '*', header: ['X-A'] }],
    ['headers alone', { headers: ['X-A'] }],
    [
      'members of a class',
      new (class {
        origins = '*'
      })(),
    ],
    ['inherited members', Object.create({ origins: '*' })],
    ['a text of headers', { origins: '*', headers: 'X-A' }],
    ['null as headers', { origins: '*', headers: null }],
    ['an empty name', { origins: '*', headers: [''] }],
    ['two names in one', { origins: '*', headers: ['X-A, X-B'] }],
    ['a name with a line', { origins: '*', headers: ['X-A\r\nX-B: c'] }],
    ['a name that is not ASCII', { origins: '*', headers: ['X-\u00c4'] }],
    ['any name', { origins: '*', headers: ['*'] }],
    ['a name that is none', { origins: '*', headers: [5] }],
    ['a hole in place of a name', { origins: '*', headers: Array(1) }],
  ])('cors takes origins and names of headers, not %s', (_, cors) => {
    expect(pathsOf(judge(createMemoryAdapter(), { cors }))).toEqual(['options.cors'])
  })

  test('are all judged at once, the adapter with them', () => {
    const faults = judge({}, { now: 5, nwo: 5, production: 'yes' })
    expect(pathsOf(faults).sort()).toEqual(['adapter', 'options.now', 'options.nwo', 'options.production'])
  })

  test('that cannot be read are a ConfigError too', () => {
    const unreadable = Object.defineProperty({}, 'now', {
      enumerable: true,
      get() {
        throw new Error('not now')
      },
    })
    expect(judge(createMemoryAdapter(), unreadable)).toHaveLength(1)
  })

  test('that are undefined count as not given', () => {
    const names = ['authenticate', 'accounts', 'basePath', 'cors', 'clientAddress', 'hasher', 'logger']
    const options = Object.fromEntries([...names, 'production', 'now'].map((name) => [name, undefined]))
    expect(judge(undefined, options)).toEqual([])
    expect(judge(undefined, undefined)).toEqual([])
  })

  test.each<[what: string, options: ServiceOptions]>([
    ['an array of origins', { cors: { origins: ['https://a.example', 'https://b.example'] } }],
    [
      'origins of any kind',
      { cors: { origins: ['http://localhost:3000', 'null', 'app://-', 'http://[::1]:8080'] } },
    ],
    ['any origin', { cors: { origins: '*' } }],
    ['no origin', { cors: { origins: [] } }],
    ['names of headers', { cors: { origins: '*', headers: ['X-Request-Id', 'sentry-trace', 'b3'] } }],
    ['no name of a header', { cors: { origins: '*', headers: [] } }],
    ['an empty base path', { basePath: '' }],
    ['a base path of a slash', { basePath: '/' }],
    ['a base path of several parts', { basePath: '/api/v1.2' }],
    ['an empty logger', { logger: {} }],
    ['a clock', { now: () => 0 }],
  ])('of the right type are taken: %s', (_, options) => {
    expect(judge(undefined, options)).toEqual([])
  })
})

test.each([new Date(0), '0', 0n, Promise.resolve(0), Number.NaN, 1e20])(
  'a clock that gives %o makes no request anything but a 500',
  async (given) => {
    const users = { schema: { email: { type: 'string', unique: true }, password: { type: 'hash' } } }
    const handler = createCollectionService(
      { collections: { users: { ...users, permissions: { '*': true } } } } as never,
      createMemoryAdapter(),
      { now: (() => given) as never, hasher: createTestHasher(), logger: { error() {} } },
    )
    for (const path of ['/auth/register', '/auth/login', '/users']) {
      const body = JSON.stringify({ email: 'a@example.com', password: 'correct horse' })
      const { status } = await handler(new Request(`http://a.test${path}`, { method: 'POST', body }))
      expect([path, status]).toEqual([path, 500])
    }
  },
)

describe('an adapter', () => {
  const { open, list, count, write, close } = createMemoryAdapter()
  const methods = { open, list, count, write, close }

  test.each<[what: string, adapter: unknown]>([
    ['null', null],
    ['true', true],
    ['text', 'memory'],
    ['the function that creates one', createMemoryAdapter],
    ['no method', {}],
    ...Object.keys(methods).map((name): [string, unknown] => [
      `no ${name}`,
      { ...methods, [name]: undefined },
    ]),
    ['a method that is none', { ...methods, list: [] }],
  ])('without its methods is refused: %s', (_, adapter) => {
    expect(pathsOf(judge(adapter, {}))).toEqual(['adapter'])
  })

  test('may have its methods from a class', async () => {
    class Storage implements StorageAdapter {
      readonly #inner = createMemoryAdapter()
      open(...args: Parameters<StorageAdapter['open']>) {
        return this.#inner.open(...args)
      }
      list(...args: Parameters<StorageAdapter['list']>) {
        return this.#inner.list(...args)
      }
      count(...args: Parameters<StorageAdapter['count']>) {
        return this.#inner.count(...args)
      }
      write(...args: Parameters<StorageAdapter['write']>) {
        return this.#inner.write(...args)
      }
      close() {
        return this.#inner.close()
      }
    }
    const service = createTestService(config, { adapter: new Storage() })
    expect((await service.send('POST /things', { body: { x: 'a' } })).status).toBe(201)
    expect(await service.list('/things', 'x')).toEqual(['a'])
    await service.handler.close()
  })
})

describe('a base path', () => {
  test.each(['/api', '/api/', '/api//'])('is the same however it ends: %s', async (basePath) => {
    const { send } = createTestService(config, { basePath })
    const created = await send('POST /api/things', { body: { x: 'a' } })
    expect(created.status).toBe(201)
    expect(created.headers.get('location')).toBe(`/api/things/${created.body._id}`)
    expect((await send('GET /api/things/count')).body).toEqual({ total: 1 })
    expect((await send('GET /things')).status).toBe(404)
    expect((await send('GET /apithings')).status).toBe(404)
  })

  test.each(['', '/'])('of nothing is the root: %j', async (basePath) => {
    const { send } = createTestService(config, { basePath })
    expect((await send('GET /things')).status).toBe(200)
    expect((await send('GET /api/things')).status).toBe(404)
  })
})

describe('a logger', () => {
  class Journal implements Logger {
    readonly #entries: string[] = []
    readonly #note = (level: string): void => void this.#entries.push(level)
    info(): void {
      this.#note('info')
    }
    warn(): void {
      this.#note('warn')
    }
    error(): void {
      this.#note('error')
    }
    get entries(): readonly string[] {
      return this.#entries
    }
  }

  test('may be an instance of a class', async () => {
    const logger = new Journal()
    const open = { collections: { things: { schema: {}, permissions: { '*': true } } } }
    const { send } = createTestService(open, {
      logger,
      authenticate: () => {
        throw new Error('the directory is down')
      },
    })
    expect(logger.entries).toEqual(['warn'])
    expect((await send('GET /things', { mayFail: true })).status).toBe(500)
    expect(logger.entries).toEqual(['warn', 'error'])
  })
})

describe('clientAddress', () => {
  const createClients = (address: unknown): TestService =>
    createTestService(accounts, { clientAddress: (() => address) as () => string })
  const body = { email: 'ann@example.com', password: 'correct horse' }

  test.each<[what: string, address: unknown, failures: number, warnings: number]>([
    ['text', '203.0.113.9', 10, 0],
    ['empty text', '', 100, 1],
    ['null', null, 100, 1],
    ['undefined', undefined, 100, 1],
  ])('may give %s', async (_, address, failures, warnings) => {
    const { register, send, logged } = createClients(address)
    await register(body)
    expect((await send('POST /auth/login', { body })).status).toBe(200)
    const wrong = { ...body, password: 'wrong horse' }
    for (let i = 0; i < failures; i++)
      expect((await send('POST /auth/login', { body: wrong })).status).toBe(401)
    expect((await send('POST /auth/login', { body })).status).toBe(429)
    expect(logged).toHaveLength(warnings)
  })

  test.each([
    ['a number', 5],
    ['an object', { address: '203.0.113.9' }],
    ['a promise', Promise.resolve('203.0.113.9')],
  ])('that gives %s is a fault of the host', async (_, address) => {
    const { register, send, logged } = createClients(address)
    await register(body)
    const answer = await send('POST /auth/login', { body, mayFail: true })
    expect([answer.status, answer.body.code]).toEqual([500, 'internal_error'])
    expect(logged).toHaveLength(1)
  })

  test('is not asked where nobody signs in', async () => {
    const { send, register } = createClients(5)
    const { token } = await register(body)
    expect((await send('GET /auth/me', { token })).status).toBe(200)
  })
})

describe('hooks', () => {
  const before = (): undefined => undefined
  test.each<readonly [what: string, hooks: unknown, paths: readonly string[]]>([
    ['of collections', { things: { before } }, []],
    ['none', {}, []],
    ['of a collection, but none', { things: undefined }, []],
    ['as a function', before, ['options.hooks']],
    ['as an array', [], ['options.hooks']],
    ['null', null, ['options.hooks']],
    [
      'of unknown collections',
      { thing: { before }, toString: { before } },
      ['options.hooks.thing', 'options.hooks.toString'],
    ],
    ['of a comment', { $comment: { before } }, ['options.hooks.$comment']],
    ['without a function', { things: {} }, ['options.hooks.things']],
    ['with something else for it', { things: { before: 'x' } }, ['options.hooks.things']],
    ['that are a function', { things: before }, ['options.hooks.things']],
    ['with members that are unknown', { things: { before, after: before } }, ['options.hooks.things']],
  ])('%s', (_, hooks, paths) => {
    expect(pathsOf(judge(createMemoryAdapter(), { hooks }))).toEqual(paths)
  })

  test('of an unknown collection are told the nearest one', () => {
    const [fault] = judge(createMemoryAdapter(), { hooks: { thinks: { before } } })
    expect(fault?.message).toContain('"things"')
  })
})

test('the memory adapter takes nothing but documents', () => {
  const options = { document: { things: [] } } as object
  expect(() => createMemoryAdapter(options)).toThrow(ConfigError)
})

describe('a hasher of the host', () => {
  const ann = { email: 'ann', password: 'secret' }
  const plain = { hash: async (secret: string) => `#${secret}`, verify: async () => true }
  const send = (service: TestService, route: string) =>
    service.send(`POST /auth/${route}`, { body: ann, mayFail: true })

  test.each([[undefined], [5], [''], [{}], [null], ['a\0b']])(
    'that gives the hash %j stores nothing',
    async (hash) => {
      const service = createTestService(accounts, { hasher: { ...plain, hash: async () => hash as string } })
      expect((await send(service, 'register')).status).toBe(500)
      expect(inspect(service.logged)).toContain('hasher.hash')
      expect((await send(service, 'login')).status).not.toBe(200)
    },
  )

  test.each([[1], ['yes'], [{ ok: false }], [undefined], [null]])(
    'that verifies by %j signs nobody in',
    async (answer) => {
      const hasher = { ...plain, verify: async () => answer as never }
      const service = createTestService(accounts, { hasher })
      expect((await send(service, 'register')).status).toBe(201)
      expect((await send(service, 'login')).status).toBe(500)
    },
  )
})
