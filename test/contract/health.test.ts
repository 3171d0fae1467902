import { afterEach, describe, expect, test, vi } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { Connection } from '../../src/adapters/sqlite/connection/connection.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { createHasherOn, createWorkQueue } from '../../src/core/accounts/auth/hasher.js'
import {
  createMemoryAdapter,
  type Hasher,
  type Health,
  ServiceError,
  type ServiceOptions,
  type StorageAdapter,
} from '../../src/index.js'
import { answerAtDeadline, createStall } from '../support/deadlines.js'
import { newPool, newSchema, usePostgres } from '../support/postgres.js'
import { ACCOUNTS, createCounted, FAILING, LIVE, NOTES, pass, probe, READY } from '../support/probes.js'
import { type AnyConfig, createTestService, type TestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { until } from '../support/until.js'

/** CONTRACT.md §7, "Health" */

const services = closeAfterEach()
const postgres = usePostgres()

type Options = Parameters<typeof createTestService>[1]

function open(options: Options = {}, given: AnyConfig = NOTES): TestService {
  const service = createTestService(given, options)
  services.push(service)
  return service
}

/** The names of the checks that fail. */
const failing = ({ checks }: Health): readonly string[] =>
  checks.filter(({ status }) => status === 'failing').map(({ name }) => name)

/** The answer to a probe whose question waits for longer than two seconds, but for less than a request may last. */
async function answerInTime<T>(begun: Promise<unknown>, send: () => Promise<T>): Promise<T> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const answer = send()
    await begun
    await vi.advanceTimersByTimeAsync(2000)
    return await answer
  } finally {
    vi.useRealTimers()
  }
}

afterEach(() => void vi.restoreAllMocks())

/** A storage whose opening ends only when it is told how. `begun` resolves when the opening begins. */
function createSlow() {
  const inner = createMemoryAdapter()
  const stall = createStall()
  let outcome: { readonly cause?: Error | undefined } | undefined
  const adapter: StorageAdapter = {
    ...inner,
    async open(plans) {
      void stall.begin()
      await until(async () => outcome !== undefined, 'the opening may end')
      if (outcome?.cause) throw outcome.cause
      return inner.open(plans)
    },
  }
  const finish = (cause?: Error): void => {
    outcome = { cause }
  }
  return { adapter, begun: stall.begun, finish }
}

describe('the routes', () => {
  const cases: readonly (readonly [line: string, status: number])[] = [
    ['GET /_health/live', 200],
    ['HEAD /_health/live', 200],
    ['GET /_health/ready', 200],
    ['HEAD /_health/ready', 200],
    ['GET /_health/ready/', 200],
    ...['POST', 'PUT', 'PATCH', 'DELETE'].flatMap((method) =>
      ['live', 'ready'].map((name) => [`${method} /_health/${name}`, 405] as const),
    ),
    ['OPTIONS /_health/ready', 204],
    ['GET /_health/live?x=1', 400],
    ['GET /_health/ready?q[text]=a', 400],
    ['GET /_health', 404],
    ['GET /_health/other', 404],
    ['GET /_health/ready/x', 404],
  ]

  test.each(cases)('%s is %i, and never stored', async (line, status) => {
    const { send } = open()
    const answer = await send(line)
    expect(answer.status).toBe(status)
    if (status === 405 || status === 204) expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    if (status !== 204) expect(answer.headers.get('cache-control')).toBe('no-store')
    if (status === 200) expect(answer.headers.get('content-type')).toBe('application/json')
    expect(answer.body).toEqual(
      status === 200 && !line.startsWith('HEAD')
        ? { status: 'ok' }
        : line.startsWith('HEAD') || status === 204
          ? undefined
          : expect.objectContaining({ status }),
    )
  })

  test('say that a draining service is not ready, and it answers other requests as before', async () => {
    const service = open()
    expect(await probe(service)).toEqual(READY)
    service.handler.drain()
    expect(await probe(service)).toEqual(FAILING)
    expect(await probe(service, 'live')).toEqual(LIVE)
    const { checks } = await service.handler.health()
    expect(checks[0]).toEqual({
      name: 'service',
      status: 'failing',
      detail: 'The service is about to close.',
    })
    expect((await service.send('POST /notes', { body: { text: 'a' } })).status).toBe(201)
  })

  test('are below the base path, and on handlers of as()', async () => {
    const { handler } = open({ basePath: '/api' })
    for (const one of [handler, handler.as(null), handler.as({ id: 'a' })])
      expect((await one(new Request('http://a/api/_health/ready'))).status).toBe(200)
    expect((await handler(new Request('http://a/_health/ready'))).status).toBe(404)
  })

  test('identify nobody: neither a token nor the host counts', async () => {
    const authenticate = vi.fn(() => {
      throw new Error('the host is down')
    })
    const { send } = open({ authenticate })
    for (const name of ['live', 'ready'])
      expect((await send(`GET /_health/${name}`, { token: 'wrong' })).status).toBe(200)
    expect(authenticate).not.toHaveBeenCalled()
    expect((await open({}, ACCOUNTS).send('GET /_health/ready', { token: 'wrong' })).status).toBe(200)
  })

  test('do not exist with health: false; service.health() still does', async () => {
    const { send, handler } = open({ health: false })
    for (const name of ['live', 'ready']) expect((await send(`GET /_health/${name}`)).status).toBe(404)
    expect((await handler.health()).status).toBe('ok')
    expect((await open({ health: true }).send('GET /_health/ready')).status).toBe(200)
  })

  test('have the checks with health: "detailed" alone', async () => {
    const health = await open().handler.health()
    expect(health).toEqual({
      status: 'ok',
      checks: ['service', 'storage', 'hashing'].map((name) => ({ name, status: 'ok' })),
    })
    expect(await probe(open({ health: 'detailed' }))).toEqual([200, health])
    expect(await probe(open({ health: 'detailed' }), 'live')).toEqual(LIVE)
  })

  test.each(['yes', 1, null, 'Detailed'])('health: %j is a ConfigError', (health) => {
    expect(() => open({ health } as unknown as ServiceOptions)).toThrow(
      'options.health: must be true, false or "detailed"',
    )
  })

  test('are neither listed nor described', async () => {
    const { send } = open({ openapi: true })
    for (const path of ['/', '/_openapi.json'])
      expect((await send(`GET ${path}`)).text).not.toContain('health')
  })
})

describe('the question to the storage', () => {
  test('is one for 1,000 probes at once, and another at most a second later', async () => {
    const { adapter, calls } = createCounted()
    const service = open({ adapter })
    pass()
    const all = await Promise.all(Array.from({ length: 1000 }, () => probe(service)))
    expect(new Set(all.map((one) => JSON.stringify(one)))).toEqual(new Set([JSON.stringify(READY)]))
    await Promise.all([service.handler.health(), service.handler.as(null).health(), probe(service)])
    expect(calls).toEqual(['list notes'])
    pass()
    await Promise.all(Array.from({ length: 1000 }, () => probe(service)))
    expect(calls).toEqual(['list notes', 'list notes'])
  })

  test('is asked by ready alone, never by live', async () => {
    const { adapter, calls } = createCounted()
    const service = open({ adapter })
    expect(await probe(service, 'live')).toEqual(LIVE)
    expect(calls).toEqual([])
  })

  test('opens a storage that no request has opened', async () => {
    const inner = createMemoryAdapter()
    const opened = vi.fn(inner.open)
    const service = open({ adapter: { ...inner, open: opened } })
    await probe(service, 'live')
    expect(opened).not.toHaveBeenCalled()
    expect(await probe(service)).toEqual(READY)
    expect(opened).toHaveBeenCalled()
  })

  test('that fails to open is 503, until it succeeds', async () => {
    const inner = createMemoryAdapter()
    let isDown = true
    const service = open({
      adapter: {
        ...inner,
        open: (plans) => (isDown ? Promise.reject(new Error('s3cret')) : inner.open(plans)),
      },
    })
    expect(await probe(service)).toEqual(FAILING)
    const health = await service.handler.health()
    expect(failing(health)).toEqual(['service', 'storage'])
    expect(JSON.stringify(health)).not.toContain('s3cret')
    expect(await probe(service, 'live')).toEqual(LIVE)
    isDown = false
    pass()
    expect(await probe(service)).toEqual(READY)
  })

  test('that is never answered is 503 after a time of its own', async () => {
    const stall = createStall()
    const { adapter, calls, next } = createCounted({ list: stall.begin })
    const service = open({ adapter })
    const answers = await answerInTime(stall.begun, () => Promise.all([probe(service), probe(service)]))
    expect(answers).toEqual([FAILING, FAILING])
    expect(calls).toEqual(['list notes'])
    delete next.list
    pass()
    expect(await probe(service)).toEqual(READY)
  })

  test('aborts the signal of the call when its time is over', async () => {
    const stall = createStall()
    let signal: AbortSignal | undefined
    const { adapter } = createCounted({
      list(_, query) {
        signal = query.signal
        return stall.begin()
      },
    })
    await answerInTime(stall.begun, () => probe(open({ adapter })))
    expect(signal?.aborted).toBe(true)
  })

  test('tells the log when the answer changes, with the cause', async () => {
    const cause = new Error('postgres://user:s3cret@host is down')
    const { adapter, next } = createCounted()
    const service = open({ adapter, health: 'detailed' })
    await probe(service)
    next.list = () => Promise.reject(new ServiceError('storage_unavailable', 'Down.', { cause }))
    const details: unknown[] = []
    for (let times = 0; times < 3; times++) {
      pass()
      details.push(await probe(service))
    }
    delete next.list
    pass()
    await probe(service)
    expect(service.logged).toEqual([
      ['the storage does not answer as it should', { cause: expect.objectContaining({ cause }) }],
      ['the storage answers again', undefined],
    ])
    expect(JSON.stringify(details)).not.toContain('s3cret')
    expect(details[0]).toEqual([
      503,
      {
        status: 'failing',
        checks: [
          { name: 'service', status: 'ok' },
          {
            name: 'storage',
            status: 'failing',
            detail: 'The storage does not answer as it should: storage_unavailable.',
          },
          { name: 'hashing', status: 'ok' },
        ],
      },
    ])
  })

  test('tells the log of a failure, although the first one was found while the storage was opening', async () => {
    const { adapter, begun, finish } = createSlow()
    const service = open({ adapter })
    expect(await answerInTime(begun, () => probe(service))).toEqual(FAILING)
    expect(service.logged).toEqual([])
    const cause = new Error('it is down')
    finish(cause)
    for (let times = 0; times < 2; times++) {
      pass()
      expect(await probe(service)).toEqual(FAILING)
    }
    expect(service.logged).toEqual([['the storage does not answer as it should', { cause }]])
    finish()
    pass()
    expect(await probe(service)).toEqual(READY)
    expect(service.logged.slice(1)).toEqual([['the storage answers again', undefined]])
  })

  test('tells the log nothing of an opening that takes long', async () => {
    const { adapter, begun, finish } = createSlow()
    const service = open({ adapter })
    expect(await answerInTime(begun, () => probe(service))).toEqual(FAILING)
    finish()
    await service.handler.ready()
    pass()
    expect([await probe(service), service.logged]).toEqual([READY, []])
  })

  test('reads only, unless the last write failed; then it writes until a write succeeds', async () => {
    const { adapter, calls, next, inner } = createCounted()
    const service = open({ adapter })
    const create = () => service.send('POST /notes', { body: { text: 'a' }, mayFail: true })
    const ask = (): ReturnType<typeof probe> => {
      calls.length = 0
      pass()
      return probe(service)
    }
    await create()
    expect([await ask(), calls]).toEqual([READY, ['list notes']])
    next.write = () => Promise.reject(new ServiceError('storage_unavailable', 'The disk is full.'))
    // A service that has not noticed it is ready.
    expect([await ask(), calls]).toEqual([READY, ['list notes']])
    expect((await create()).status).toBe(503)
    for (let times = 0; times < 2; times++)
      expect([await ask(), calls]).toEqual([FAILING, ['list notes', 'write insert,remove']])
    delete next.write
    expect([await ask(), calls]).toEqual([READY, ['list notes', 'write insert,remove']])
    expect([await ask(), calls]).toEqual([READY, ['list notes']])
    // What the question wrote is gone.
    expect(await inner.count('notes', { kind: 'and', filters: [] }, {})).toBe(1)
  })

  test('does not take a write for a failed one that its steps rejected', async () => {
    const { adapter, calls } = createCounted()
    const service = open(
      { adapter },
      {
        collections: {
          notes: {
            schema: { text: { type: 'string', unique: true } },
            permissions: { '*': { create: true } },
          },
        },
      },
    )
    await service.send('POST /notes', { body: { text: 'a' } })
    expect((await service.send('POST /notes', { body: { text: 'a' } })).status).toBe(409)
    calls.length = 0
    expect([await probe(service), calls]).toEqual([READY, ['list notes']])
  })
})

describe('a service that closes', () => {
  test('is live, and not ready: a load balancer sends it nothing more', async () => {
    const stall = createStall()
    const { adapter, calls } = createCounted()
    const service = open({ adapter, health: 'detailed' })
    await probe(service)
    const held = createCounted({ write: stall.begin })
    const slow = open({ adapter: held.adapter })
    expect(await probe(slow)).toEqual(READY)
    void slow.send('POST /notes', { body: { text: 'a' }, mayFail: true })
    await stall.begun
    const closing = answerAtDeadline(Promise.resolve(), () => slow.handler.close())
    expect([await probe(slow), await probe(slow, 'live')]).toEqual([FAILING, LIVE])
    await closing
    calls.length = 0
    await service.handler.close()
    pass()
    expect(failing(await service.handler.health())).toEqual(['service', 'storage'])
    expect([await probe(service, 'live'), calls]).toEqual([LIVE, []])
  })
})

describe('hashing', () => {
  /** A hasher with room for a secret that waits, and the secrets that wait or are hashed. */
  function createFull(room = 1): { readonly hasher: Hasher; fill(): void; empty(): void } {
    let finish: (() => void)[] = []
    const wait = <T>(value: T): Promise<T> => new Promise((resolve) => finish.push(() => resolve(value)))
    const engine = { hash: () => wait(''), compare: () => wait(false) }
    const hasher = createHasherOn(engine, 4, createWorkQueue(room))
    return {
      hasher,
      fill() {
        for (let times = 0; times < 2; times++) hasher.hash('a').catch(() => {})
      },
      empty() {
        for (const one of finish) one()
        finish = []
      },
    }
  }

  test('whose queue is full is not ready', async () => {
    const { hasher, fill, empty } = createFull()
    const service = open({ hasher }, ACCOUNTS)
    expect(await probe(service)).toEqual(READY)
    void hasher.hash('a')
    expect(await probe(service)).toEqual(READY)
    fill()
    expect(await probe(service)).toEqual(FAILING)
    expect(failing(await service.handler.health())).toEqual(['hashing'])
    empty()
    await until(async () => (await probe(service))[0] === 200, 'the queue has room')
    empty()
  })

  test('is ready while the secrets of one caller fill the queue, because another caller is served', async () => {
    const { hasher, empty } = createFull(2)
    const service = open({ hasher }, ACCOUNTS)
    const { signal } = new AbortController()
    for (let times = 0; times < 5; times++) hasher.hash('a', signal, 'one').catch(() => {})
    expect(await probe(service)).toEqual(READY)
    hasher.hash('a', signal, 'two').catch(() => {})
    expect(await probe(service)).toEqual(FAILING)
    empty()
    await until(async () => (await probe(service))[0] === 200, 'the queue has room')
    empty()
  })

  test('of the host that cannot tell counts as idle; one that throws does not', async () => {
    const { hash, verify } = createFull().hasher
    expect(await probe(open({ hasher: { hash, verify } }, ACCOUNTS))).toEqual(READY)
    const isOverloaded = (): never => {
      throw new Error('unknown')
    }
    expect(await probe(open({ hasher: { hash, verify, isOverloaded } }, ACCOUNTS))).toEqual(FAILING)
  })

  test('that cannot tell is told to the log once, however many probes ask', async () => {
    const { hash, verify } = createFull().hasher
    const cause = new Error('unknown')
    let fails = true
    const isOverloaded = (): boolean => {
      if (fails) throw cause
      return false
    }
    const service = open({ hasher: { hash, verify, isOverloaded } }, ACCOUNTS)
    const ask = async (): Promise<void> => {
      for (let times = 0; times < 3; times++) await probe(service)
    }
    await ask()
    const said = ['options.hasher.isOverloaded failed', { cause }]
    expect(service.logged).toEqual([said])
    fails = false
    await ask()
    fails = true
    await ask()
    expect(service.logged).toEqual([said, said])
  })

  test('that answers with a promise counts as idle, and a rejection of it ends no process', async () => {
    const { hash, verify } = createFull().hasher
    const isOverloaded = (() => Promise.reject(new Error('unknown'))) as unknown as () => boolean
    expect(await probe(open({ hasher: { hash, verify, isOverloaded } }, ACCOUNTS))).toEqual(READY)
  })
})

describe.each(useStorages())('%s', (_, create) => {
  test.each([
    ['with accounts', ACCOUNTS],
    ['without', NOTES],
  ])('is ready, and its trial write leaves nothing, %s', async (__, given) => {
    const inner = create()
    let fails = false
    const failed = vi.fn(() => Promise.reject(new ServiceError('storage_unavailable', 'Full.')))
    const written: unknown[] = []
    const adapter: StorageAdapter = {
      open: (plans) => inner.open(plans),
      list: (collection, query) => inner.list(collection, query),
      count: (collection, filter, options) => inner.count(collection, filter, options),
      async write(steps, options) {
        if (fails) return failed()
        const result = await inner.write(steps, options)
        written.push([steps[0]?.in, result])
        return result
      },
      close: () => inner.close(),
    }
    const service = open({ adapter }, given)
    expect(await probe(service)).toEqual(READY)
    fails = true
    const [line, body] =
      given === NOTES
        ? ['POST /notes', { text: 'a' }]
        : ['POST /auth/register', { email: 'ann@example.com', password: 'correct horse' }]
    expect((await service.send(String(line), { body, mayFail: true })).status).toBe(503)
    fails = false
    pass()
    written.length = 0
    expect(await probe(service)).toEqual(READY)
    const collection = given === NOTES ? 'notes' : '_ledgers'
    expect(written).toEqual([[collection, { ok: true, removed: 1 }]])
    expect(await inner.count(collection, { kind: 'and', filters: [] }, {})).toBe(0)
  })
})

test('a full disk of SQLite is not ready from the first failed write on, until there is room', async () => {
  const connections = new Set<Connection>()
  const { execute } = Connection.prototype
  vi.spyOn(Connection.prototype, 'execute').mockImplementation(function (this: Connection, sql) {
    if (sql === 'BEGIN IMMEDIATE') connections.add(this)
    return execute.call(this, sql)
  })
  const service = open({ adapter: createSqliteAdapter({ file: ':memory:' }) })
  const create = () => service.send('POST /notes', { body: { text: 'x'.repeat(20_000) }, mayFail: true })
  expect((await create()).status).toBe(201)
  const [writer] = connections
  const limit = (pages: number) => writer?.first(`PRAGMA max_page_count = ${pages}`, [])
  limit(Number(writer?.first('PRAGMA page_count', [])))
  expect([await probe(service), (await create()).status]).toEqual([READY, 503])
  for (let times = 0; times < 2; times++) {
    pass()
    expect(await probe(service)).toEqual(FAILING)
  }
  expect((await service.send('GET /notes')).status).toBe(200)
  limit(1_000_000)
  pass()
  expect([await probe(service), (await create()).status]).toEqual([READY, 201])
  expect((await service.send('GET /notes/count')).body).toEqual({ total: 2 })
})

test('a pool of PostgreSQL that is used up is not ready until a connection is free', async () => {
  const pool = newPool({ connectionString: postgres.url, max: 1 })
  const service = open({ adapter: createPostgresAdapter({ pool, schema: newSchema() }) })
  try {
    await service.handler.ready()
    expect(await probe(service)).toEqual(READY)
    const client = await pool.connect()
    pass()
    expect(await probe(service)).toEqual(FAILING)
    client.release()
    pass()
    expect(await probe(service)).toEqual(READY)
  } finally {
    await service.handler.close()
    await pool.end()
  }
})
