import { describe, expect, test } from 'vitest'
import { createMemoryAdapter, type HookChange, refuse, ServiceError } from '../../src/index.js'
import { answerAtDeadline, createStall } from '../support/deadlines.js'
import { as, ask, IN_MEMORY, opener, POST } from '../support/hook-laws.js'
import { HOOKED } from '../support/hooked-config.js'
import { createTestService } from '../support/service.js'
import { idOf } from '../support/stored.js'
import { spyOn } from './fixture.js'

// CONTRACT.md §9, "Before a write"

/** Hooks that go wrong, by mistake or because somebody leads them there: nothing of their write may be stored. */

const ONE = `/posts/${idOf(1)}`
const LINES: readonly (readonly [line: string, body?: unknown])[] = [
  ['POST /posts', { title: 'Two' }],
  ['POST /_batch', { operations: [{ method: 'POST', path: '/posts', body: { title: 'Two' } }] }],
]
const CHANGES: typeof LINES = [...LINES, [`PATCH ${ONE}`, { title: 'Two' }], [`DELETE ${ONE}`]]

async function createStage(before: (change: HookChange) => unknown) {
  const adapter = spyOn(createMemoryAdapter())
  const service = await opener({ adapter: () => adapter })(
    { posts: before as () => undefined },
    { posts: [POST] },
  )
  service.logged.length = 0
  const dump = (): Promise<string> => adapter.dump(['posts', 'log', 'comments'])
  /** Sends a request whose hook fails. */
  const fail = async ([line, body]: (typeof LINES)[number]): Promise<void> => {
    const stored = await dump()
    const sent = await service.send(line, { ...as(body), mayFail: true })
    expect([line, sent.status, sent.body.code]).toEqual([line, 500, 'internal_error'])
    expect(sent.text).not.toMatch(/hook|secret detail/)
    expect(await dump()).toBe(stored)
    const [[what, details] = []] = service.logged.splice(0)
    expect(what).toBe('request failed')
    expect(String((details as { cause?: unknown }).cause)).toContain('options.hooks.posts.before')
  }
  return { ...service, adapter, dump, fail }
}

/** Sends requests whose hook fails, to a service that outlives them. */
async function failing(before: () => unknown) {
  present = before
  stage ??= createStage(() => present())
  return (await stage).fail
}

let present: () => unknown
let stage: ReturnType<typeof createStage> | undefined

const also = (operation: object) => ({ also: [operation] })
const entry = (body: object) => also({ method: 'POST', path: '/log', body })

describe('a hook that returns nonsense is a 500, and stores nothing:', () => {
  test.each<readonly [what: string, returned: unknown]>([
    ['null', null],
    ['text', 'ok'],
    ['true', true],
    ['an array', []],
    ['an unknown member', { set: {}, body: 1 }],
    ['a misspelt member', { sets: {} }],
    ['set: null', { set: null }],
    ['set: an array', { set: [] }],
    ['also: null', { also: null }],
    ['also: an object', { also: { method: 'GET' } }],
    ['a function', { set: { note: () => 'x' } }],
    ['a date', { set: { note: new Date(0) } }],
    ['a map', new Map()],
    [
      'itself',
      (() => {
        const loop: { set?: unknown } = {}
        loop.set = loop
        return loop
      })(),
    ],
    [
      'a getter that throws',
      {
        get set() {
          throw new Error('secret detail')
        },
      },
    ],
    ['a value of another type', { set: { title: 1 } }],
    ['NaN', { set: { comments: Number.NaN } }],
    ['a bound that is broken', { set: { comments: -1 } }],
    ['no value where one is required', { set: { title: null } }],
    ['NUL', { set: { note: '\u0000' } }],
    ['a lone surrogate', { set: { note: '\ud800' } }],
    ['an unknown property', { set: { nothing: 1 } }],
    ['an unknown property inside', { set: { meta: { nothing: 1 } } }],
    ['__proto__', { set: JSON.parse('{ "__proto__": { "title": "x" } }') }],
    ['the _id', { set: { _id: idOf(5) } }],
    ['createdBy', { set: { createdBy: 'zoe' } }],
    ['updatedAt', { set: { updatedAt: '2020-01-01T00:00:00.000Z' } }],
    ['the version', { set: { _version: 1 } }],
    ['a hash', { set: { pin: 'a secret' } }],
    ['a hash, to remove it', { set: { pin: null } }],
    ['a reference to nothing', { set: { next: idOf(9) } }],
    ['a reference that is no _id', { set: { next: '../secrets' } }],
    ['too deep', { set: { note: JSON.parse('[['.repeat(20) + ']]'.repeat(20)) } }],
    ['no operation', also({})],
    ['a number for an operation', { also: [1] }],
    ['an unknown method', also({ method: 'PURGE', path: ONE })],
    ['an unknown collection', also({ method: 'POST', path: '/logs', body: {} })],
    ['a list', also({ method: 'GET', path: '/log' })],
    ['bulk', also({ method: 'POST', path: '/log/bulk', body: {} })],
    ['an account', also({ method: 'POST', path: '/auth/register', body: {} })],
    ['a batch', also({ method: 'POST', path: '/_batch', body: { operations: [] } })],
    ['an unknown member of an operation', also({ method: 'GET', path: ONE, headers: {} })],
    ['a body where none belongs', also({ method: 'DELETE', path: ONE, body: {} })],
    ['no body', also({ method: 'POST', path: '/log' })],
    ['conditions that are no tags', also({ method: 'GET', path: ONE, ifMatch: 'x' })],
    ['__proto__ in a body', also({ method: 'POST', path: '/log', body: JSON.parse('{ "__proto__": 1 }') })],
    ['a body that the schema refuses', entry({ what: 1 })],
    ['a body without what is required', entry({})],
    ['a secret', entry({ what: 'x', pin: 'a secret' })],
    ['a reference of an operation to nothing', entry({ what: 'x', post: idOf(9) })],
    ['a document that is not there', also({ method: 'PATCH', path: `/log/${idOf(9)}`, body: { what: 'x' } })],
    ['a GET of what is not there', also({ method: 'GET', path: `/log/${idOf(9)}` })],
    ['a second operation that fails', { also: [...entry({ what: 'x' }).also, ...entry({}).also] }],
    [
      'more operations than limits.added',
      { also: Array.from({ length: 5 }, () => entry({ what: 'x' }).also[0]) },
    ],
    [
      'more operations than it may list',
      { also: Array.from({ length: 500 }, () => entry({ what: 'x' }).also[0]) },
    ],
  ])('%s', async (_, returned) => {
    const fail = await failing(() => returned)
    for (const line of LINES) await fail(line)
  })

  test('set in a delete, and another value of what is immutable in an update', async () => {
    const stage = await createStage(({ operation }) =>
      operation === 'delete' ? { set: { title: 'x' } } : { set: { origin: 'late' } },
    )
    await stage.fail([`DELETE ${ONE}`])
    await stage.fail([`PATCH ${ONE}`, { title: 'Two' }])
    await stage.fail([`PUT ${ONE}`, { title: 'Two' }])
  })
})

describe('a hook that throws is a 500, and stores nothing:', () => {
  test.each<readonly [what: string, thrown: () => unknown]>([
    ['an error', () => new Error('secret detail')],
    ['nothing', () => undefined],
    ['null', () => null],
    ['text', () => 'secret detail'],
    ['an error of the service', () => new ServiceError('forbidden', 'secret detail')],
    ['a refusal without a status', () => new ServiceError('refused', 'secret detail')],
    [
      'a refusal with a status of its own',
      () => Object.assign(new ServiceError('refused', 'x'), { status: 200 }),
    ],
    [
      'an object that cannot be read',
      () =>
        new Proxy(
          {},
          {
            get: () => {
              throw new Error('no')
            },
          },
        ),
    ],
  ])('%s', async (_, thrown) => {
    for (const isLate of [false, true]) {
      const fail = await failing(() => {
        if (isLate) return Promise.reject(thrown())
        throw thrown()
      })
      for (const line of CHANGES) await fail(line)
    }
  })

  test.each<readonly [what: string, refuse: () => never]>([
    ['another status', () => refuse(500 as 400, 'x')],
    ['no detail', () => refuse(400, undefined as never)],
    ['faults of no shape', () => refuse(400, 'x', [{ path: 1 }] as never)],
    ['a fault that is null', () => refuse(400, 'x', [null] as never)],
    ['faults that are none', () => refuse(400, 'x', 'y' as never)],
  ])('a refusal with %s', async (_, before) => {
    const fail = await failing(before)
    for (const line of CHANGES) await fail(line)
  })
})

describe('a hook that does not end', () => {
  test('is a 500 at the deadline, and what it wants later is not stored', async () => {
    const { begin, begun } = createStall()
    let signal: AbortSignal | undefined
    const stage = await createStage(async (change) => {
      signal = change.signal
      // A read of its own does not make it a fault of the storage.
      await ask(change, ONE)
      return begin()
    })
    const stored = await stage.dump()
    const send = () => stage.send('POST /posts', { ...as({ title: 'Two' }), mayFail: true })
    const { status, body } = await answerAtDeadline(begun, send)
    expect([status, body.code]).toEqual([500, 'internal_error'])
    expect(signal?.aborted).toBe(true)
    expect(await stage.dump()).toBe(stored)
    expect(JSON.stringify(stage.logged)).toContain('request failed')
  })

  test('has no effect when it ends behind the deadline', async () => {
    const { begin, begun } = createStall()
    let end = (): void => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    const stage = await createStage(() => {
      void begin()
      return ended.then(() => entry({ what: 'late' }))
    })
    const stored = await stage.dump()
    const send = () => stage.send('POST /posts', { ...as({ title: 'Two' }), mayFail: true })
    expect((await answerAtDeadline(begun, send)).status).toBe(500)
    end()
    await new Promise((resolve) => setImmediate(resolve))
    expect(await stage.dump()).toBe(stored)
  })
})

describe('what a hook is given', () => {
  test('cannot be changed', async () => {
    const stage = await createStage((change) => {
      for (const part of [change, change.after, change.caller, change.after?.meta])
        if (part) expect(() => Object.assign(part, { title: 'forged', id: 'zoe' })).toThrow(TypeError)
      return undefined
    })
    const { body } = await stage.send('POST /posts', as({ title: 'Two' }))
    expect([body.title, body.createdBy]).toEqual(['Two', 'ann'])
  })

  test('leaves the objects of a host as they are', async () => {
    const caller = { id: 'ann', session: { open: true } }
    const stage = await createStage(() => undefined)
    await stage.send('POST /posts', { caller, body: { title: 'Two' } })
    expect([Object.isFrozen(caller), Object.isFrozen(caller.session)]).toEqual([false, false])
  })
})

test('a promise of the api that nobody waits for ends no process', async () => {
  const stray: Promise<unknown>[] = []
  const stage = await createStage((change) => {
    stray.push(ask(change, ONE), ask(change, '/posts'))
    return undefined
  })
  expect((await stage.send('POST /posts', as({ title: 'Two' }))).status).toBe(201)
  expect((await Promise.allSettled(stray)).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
})

test('without hooks nothing is held back', async () => {
  const counts = await Promise.all(
    [{}, { log: { before: () => undefined } }].map(async (hooks) => {
      const adapter = spyOn(IN_MEMORY.adapter())
      const service = createTestService(HOOKED, { adapter, hooks, authenticate: () => null })
      await service.handler.ready()
      adapter.calls.length = 0
      const { body } = await service.send('POST /posts', as({ title: 'Two' }))
      await service.send(`PATCH /posts/${body._id}`, as({ title: 'Three' }))
      await service.send(`DELETE /posts/${body._id}`, as())
      return adapter.calls
    }),
  )
  expect(counts[0]).toEqual(counts[1])
})
