import { afterEach, expect, test, vi } from 'vitest'
import { ConfigError, createCollectionService, createMemoryAdapter } from '../../src/index.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §7: the service runs where code may be made from text only while a module loads, and nothing may be drawn,
// timed or asked for meanwhile, as on workers.

afterEach(() => vi.unstubAllGlobals())

const config = {
  collections: {
    users: {
      schema: { email: { type: 'string', unique: true }, password: { type: 'hash' } },
      permissions: { user: { read: true } },
    },
    notes: {
      schema: { title: { type: 'string', required: true, pattern: '^a' }, n: { type: 'integer' } },
      permissions: { '*': true },
    },
  },
}

test('making a service draws nothing by chance, sets no timer and asks nobody', () => {
  const refuse = (): never => {
    throw new Error('not while a module loads')
  }
  const random = { getRandomValues: refuse, randomUUID: refuse, subtle: new Proxy({}, { get: refuse }) }
  vi.stubGlobal('crypto', random)
  for (const name of ['setTimeout', 'setInterval', 'fetch']) vi.stubGlobal(name, refuse)
  expect(() =>
    createCollectionService(
      { collections: { ...config.collections, notes: { ...config.collections.notes, changes: true } } },
      createMemoryAdapter({ documents: { notes: [{ title: 'a' }] } }),
      { production: false, logger: { warn() {} }, hooks: { notes: { before() {} } }, observe() {} },
    ),
  ).not.toThrow()
})

/** Forbids code from text, as a Durable Object does. */
const forbidCode = (): unknown =>
  vi.stubGlobal(
    'Function',
    class {
      constructor() {
        throw new EvalError('code from text')
      }
    },
  )

test('an invalid configuration is a ConfigError without a place where code from text is forbidden', () => {
  forbidCode()
  const create = () => createCollectionService({ ...config, collection: {} } as never)
  expect(create).toThrow(ConfigError)
  expect(create).toThrow('npx collection-service check')
})

test('neither a service nor its requests compile code from text', async () => {
  forbidCode()
  const { send, handler } = createTestService(config, { production: false })
  await handler.ready()
  const credentials = { email: 'ann@b.co', password: 'a secret' }
  const created = await send('POST /notes', { body: { title: 'a' } })
  const at = `/notes/${created.body._id}`
  const lines: readonly (readonly [string, unknown, number])[] = [
    ['POST /auth/register', credentials, 201],
    ['POST /auth/login', credentials, 200],
    ['POST /auth/login', { email: 'ann@b.co' }, 400],
    ['POST /notes/bulk', { documents: [{ title: 'ab' }, { title: 'ac' }] }, 201],
    ['POST /notes/bulk', { documents: [1] }, 400],
    ['POST /notes', { title: 'b' }, 400],
    [`PATCH ${at}`, { n: 1 }, 200],
    [`PUT ${at}`, { title: 'ad' }, 200],
    ['GET /notes?q[title][$regex]=^a&sort[n]=asc&total=true', undefined, 200],
    ['GET /notes/count?q[n][$gte]=1', undefined, 200],
    [`DELETE ${at}`, undefined, 204],
  ]
  for (const [line, body, status] of lines) {
    const answer = await send(line, body === undefined ? {} : { body })
    expect([line, answer.status]).toEqual([line, status])
  }
})
