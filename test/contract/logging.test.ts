import { afterEach, describe, expect, test, vi } from 'vitest'
import { createMemoryAdapter, type Logger, ServiceError, type StorageAdapter } from '../../src/index.js'
import { answerAtDeadline, createStall, type Stall } from '../support/deadlines.js'
import { createTestService, type SendOptions } from '../support/service.js'
import { replaceMethods } from '../support/stored.js'

// CONTRACT.md §6, "Deadlines"

const config = {
  collections: {
    things: { schema: { x: { type: 'string' } }, permissions: { '*': { create: true, read: true } } },
    users: {
      schema: { email: { type: 'string', unique: true, lowercase: true }, password: { type: 'hash' } },
      permissions: { owner: { read: true } },
    },
  },
}

/** Else the first login is a warning. */
const clientAddress = (): string => '203.0.113.9'

const CREATE = { body: { x: 'a' } }
const SIGN_UP = { body: { email: 'ann@example.com', password: 'correct horse' } }

/** A log by level, each entry as the `requestId` that it names. */
function createJournal() {
  const entries: (readonly [level: string, requestId: unknown, hasCause: boolean])[] = []
  const note =
    (level: keyof Logger): Logger[keyof Logger] =>
    (_message, details) =>
      void entries.push([level, details?.requestId, details?.cause !== undefined])
  const logger: Logger = { info: note('info'), warn: note('warn'), error: note('error') }
  return { entries, logger }
}

const rejects = (code: 'storage_unavailable' | 'outcome_unknown', cause?: unknown) => async () => {
  throw new ServiceError(code, 'lost', cause === undefined ? {} : { cause })
}

/** The opening of a storage, if it is replaced. */
const pickOpen = ({ open }: Partial<StorageAdapter>) => (open ? { open } : {})

/** What of a storage does not work; some of it never ends. */
type Break = (stall: Stall) => Partial<StorageAdapter>

describe('what the storage does not do in time is a warning, with the requestId of the answer', () => {
  test.each<[what: string, broken: Break, line: string, sent: SendOptions, code: string]>([
    ['opening', ({ begin }) => ({ open: begin }), 'GET /things', {}, 'storage_unavailable'],
    ['a list', ({ begin }) => ({ list: begin }), 'GET /things', {}, 'storage_unavailable'],
    ['a count', ({ begin }) => ({ count: begin }), 'GET /things/count', {}, 'storage_unavailable'],
    [
      'a session',
      ({ begin }) => ({ list: begin }),
      'GET /things',
      { token: 'a'.repeat(43) },
      'storage_unavailable',
    ],
    ['a write', ({ begin }) => ({ write: begin }), 'POST /things', CREATE, 'outcome_unknown'],
    ['an account', ({ begin }) => ({ write: begin }), 'POST /auth/register', SIGN_UP, 'outcome_unknown'],
    ['a login', ({ begin }) => ({ list: begin }), 'POST /auth/login', SIGN_UP, 'storage_unavailable'],
    [
      'a list that is lost',
      () => ({ list: rejects('storage_unavailable') }),
      'GET /things',
      {},
      'storage_unavailable',
    ],
    [
      'a write that is lost',
      () => ({ write: rejects('outcome_unknown') }),
      'POST /things',
      CREATE,
      'outcome_unknown',
    ],
  ])('%s', async (_, breakWith, line, sent, code) => {
    const stall = createStall()
    const { entries, logger } = createJournal()
    const broken = breakWith(stall)
    const adapter = { ...replaceMethods(createMemoryAdapter(), broken), ...pickOpen(broken) }
    const { send } = createTestService(config, { adapter, logger, clientAddress })
    const answer = await answerAtDeadline(stall.begun, () => send(line, { ...sent, mayFail: true }))
    expect([answer.status, answer.body.code]).toEqual([503, code])
    expect(entries).toEqual([['warn', answer.body.requestId, false]])
  })

  test('secrets that wait too long are one too', async () => {
    const { entries, logger } = createJournal()
    const { begin, begun } = createStall()
    const { send } = createTestService(config, { logger, hasher: { hash: begin, verify: begin } })
    const answer = await answerAtDeadline(begun, () =>
      send('POST /auth/register', { ...SIGN_UP, mayFail: true }),
    )
    expect([answer.status, answer.body.code]).toEqual([503, 'overloaded'])
    expect(entries).toEqual([['warn', answer.body.requestId, false]])
  })
})

test('what has a cause is an error, and said once', async () => {
  const { entries, logger } = createJournal()
  const list = rejects('storage_unavailable', new Error('the connection is lost'))
  const { send } = createTestService(config, {
    adapter: replaceMethods(createMemoryAdapter(), { list }),
    logger,
  })
  const answer = await send('GET /things', { mayFail: true })
  expect(answer.status).toBe(503)
  expect(entries).toEqual([['error', answer.body.requestId, true]])
})

test('a log that rejects, and an address that is a promise, end nothing', async () => {
  // The runner fails where a rejection is left unhandled.
  const reject = async (): Promise<never> => {
    throw new Error('the log is full')
  }
  const logger = { info: reject, warn: reject, error: reject } as unknown as Logger
  const list = rejects('storage_unavailable', new Error('the connection is lost'))
  const { send } = createTestService(config, {
    adapter: replaceMethods(createMemoryAdapter(), { list }),
    logger,
    clientAddress: reject as unknown as typeof clientAddress,
  })
  expect((await send('GET /things', { mayFail: true })).status).toBe(503)
  expect((await send('POST /auth/login', { ...SIGN_UP, mayFail: true })).status).toBe(500)
  await new Promise((resolve) => setImmediate(resolve))
})

test.each<[line: string, sent: SendOptions, status: number]>([
  ['GET /nothing', {}, 404],
  ['GET /things?q[y]=1', {}, 400],
  ['GET /things', { token: 'none' }, 401],
  ['GET /users', {}, 401],
  ['POST /things', { body: { y: 1 } }, 400],
  ['POST /things', { raw: '{' }, 400],
  ['POST /auth/login', SIGN_UP, 401],
])('what the client did wrong is not logged: %s', async (line, sent, status) => {
  const { entries, logger } = createJournal()
  const { send } = createTestService(config, { logger, clientAddress })
  expect((await send(line, sent)).status).toBe(status)
  expect(entries).toEqual([])
})

describe('the console, which is the log where the host gives none', () => {
  afterEach(() => void vi.restoreAllMocks())

  /** What one entry looks like where the storage fails with `cause`, and the `requestId` of the answer. */
  async function print(cause: unknown): Promise<{ readonly text: string; readonly requestId: string }> {
    const spy = vi.spyOn(console, 'error').mockImplementation(() => {})
    const list = () => Promise.reject(cause)
    const { handler } = createTestService(config, {
      adapter: replaceMethods(createMemoryAdapter(), { list }),
      logger: {},
    })
    const answer = await handler(new Request('http://service.test/things'))
    expect(answer.status).toBe(500)
    expect(spy).toHaveBeenCalledOnce()
    const [text, ...others] = spy.mock.calls[0] ?? []
    expect([typeof text, others]).toEqual(['string', []])
    return { text: String(text), requestId: (await answer.json()).requestId }
  }

  const FORGED = 'x\nrequest failed\r\u001b[2K\u009b1A\u2028y\u202ez\u2066\u200b\u0085\ud800\u0007'
  const shared: { self?: unknown } = {}
  shared.self = shared
  const changed = new Error('before\nrequest failed')
  changed.message = 'after\nrequest failed'
  const unreadable = Object.defineProperty(new Error('x'), 'message', {
    get() {
      throw new Error('no')
    },
  })
  test.each<[what: string, cause: unknown]>([
    ['an error', new Error(FORGED)],
    ['an error with frames in its message', new Error(`${FORGED}\n    at forged (forged.js:1:1)`)],
    ['an error of another name', Object.assign(new Error(FORGED), { name: FORGED, [FORGED]: FORGED })],
    ['an error without a message', new Error('')],
    ['an error whose message was changed', changed],
    ['an error that cannot be read', unreadable],
    ['an error behind errors', new Error('a', { cause: new AggregateError([new Error(FORGED)], FORGED) })],
    [
      'an error that is its own cause',
      Object.assign(new Error('a'), {
        get cause() {
          return this
        },
      }),
    ],
    ['a text', FORGED],
    ['an object', { [FORGED]: [FORGED] }],
    ['a cycle', shared],
    ['nothing', null],
    ['a symbol', Symbol(FORGED)],
    ['a text without end', FORGED.repeat(100_000)],
  ])('%s cannot forge a line', async (_, cause) => {
    const { text, requestId } = await print(cause)
    const [first, ...lines] = text.split('\n')
    expect(first).toBe('request failed')
    expect(lines[0]).toBe(`  requestId: "${requestId}"`)
    for (const line of lines) expect(line).toMatch(/^ {2}[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]*$/u)
    expect(text).not.toMatch(/^ *at forged/m)
    expect(text.length).toBeLessThan(200_000)
  })

  test('an error keeps its stack, its code and what lies behind it', async () => {
    const behind = Object.assign(new TypeError('connect\nfailed'), { code: 'ECONNREFUSED' })
    const { text } = await print(new Error('the host failed', { cause: behind }))
    expect(text).toMatch(/^ {2}cause: Error: the host failed\n +at .*logging\.test\.ts:\d+:\d+\)?$/m)
    expect(text).toMatch(/^ +cause: TypeError: connect\\nfailed\n +at .*logging\.test\.ts:\d+:\d+\)?$/m)
    expect(text).toMatch(/^ +code: "ECONNREFUSED"$/m)
  })
})
