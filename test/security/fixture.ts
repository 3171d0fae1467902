import { expect } from 'vitest'
import { createMemoryAdapter, type Filter, type ListQuery, type StorageAdapter } from '../../src/index.js'
import { createTestService, type SendOptions, type Sent, type TestService } from '../support/service.js'
import { isOfStart } from '../support/stored.js'

/** One collection for each kind of rule that an attacker would like to get around. */
export const CONFIG = {
  collections: {
    users: {
      schema: {
        email: {
          type: 'string',
          format: 'email',
          unique: true,
          required: true,
          maxLength: 254,
          trim: true,
          lowercase: true,
        },
        password: { type: 'hash', required: true, minLength: 8 },
        mobile: { type: 'string', unique: true },
        role: { type: 'string', enum: ['editor', 'admin'] },
        nick: { type: 'string', maxLength: 40 },
      },
      permissions: {
        '*': { create: { pick: ['mobile', 'nick'] } },
        user: { read: { pick: ['nick'] } },
        admin: true,
      },
    },
    posts: {
      schema: {
        title: { type: 'string', maxLength: 200 },
        body: { type: 'string', maxLength: 100000 },
        score: { type: 'number' },
        tags: { type: 'array', items: { type: 'string' }, maxItems: 100 },
        secret: { type: 'string' },
        owner: { type: 'string' },
      },
      permissions: {
        '*': { read: { omit: ['secret', 'owner'] } },
        user: { create: { pick: ['title', 'body', 'score', 'tags'] } },
        admin: true,
      },
    },
    open: {
      schema: { name: { type: 'string' }, n: { type: 'number' }, pin: { type: 'hash' } },
      permissions: { '*': true },
    },
    locked: { schema: { x: { type: 'string' } }, permissions: {} },
  },
  auth: { identifier: 'email', secret: 'password', roleField: 'role', cost: 10 },
  limits: { bodyBytes: 262144 },
}

const id = (n: number): string => `01900000-0000-7000-8000-00000000000${n}`

export const P1 = id(1)
export const P2 = id(2)
export const P3 = id(3)
export const P4 = id(4)
export const ANN = id(5)
export const BEN = id(6)
export const ZOE = id(7)

export const POSTS = [
  { _id: P1, title: 'alpha', score: 5, secret: 'zeta' },
  { _id: P2, title: 'beta', score: 15, secret: 'eta' },
  { _id: P3, title: 'gamma', score: 25 },
  { _id: P4, score: 35 },
]

export const SECRETS = { ann: 'ann-secret-1', ben: 'ben-secret-2', zoe: 'zoe-secret-3' }

export const USERS = [
  { _id: ANN, email: 'ann@example.com', password: SECRETS.ann, nick: 'ann', mobile: '+431' },
  { _id: BEN, email: 'ben@example.com', password: SECRETS.ben, nick: 'ben', mobile: '+432' },
  { _id: ZOE, email: 'zoe@example.com', password: SECRETS.zoe, nick: 'zoe', role: 'admin' },
]

/** On the host's word, so that no session has to be looked up. */
export const AS_ANN = { id: ANN }
export const AS_ADMIN = { id: ZOE, roles: ['admin'] }

export const everything: Filter = { kind: 'and', filters: [] }

/** Every document of a collection, as it is stored. */
export const ALL: ListQuery = { filter: everything, sort: [], skip: 0, limit: null }

/** An adapter whose calls are counted; what it stores can be seen without being counted. */
export interface SpiedAdapter extends StorageAdapter {
  readonly calls: string[]
  dump(collections: readonly string[]): Promise<string>
}

export function spyOn(adapter: StorageAdapter): SpiedAdapter {
  const calls: string[] = []
  return {
    ...adapter,
    list(collection, query) {
      if (!isOfStart(query)) calls.push(`list ${collection}`)
      return adapter.list(collection, query)
    },
    count(collection, filter, options) {
      if (!isOfStart(options)) calls.push(`count ${collection}`)
      return adapter.count(collection, filter, options)
    },
    write(steps, options) {
      if (!isOfStart(options)) calls.push(`write ${steps.map((step) => step.in).join(' ')}`)
      return adapter.write(steps, options)
    },
    calls,
    async dump(collections) {
      return JSON.stringify(await Promise.all(collections.map((name) => adapter.list(name, ALL))))
    },
  }
}

/** A service over a spied adapter, opened. */
export interface Attacked extends TestService {
  readonly adapter: SpiedAdapter
  /** All that is stored, sessions among it. */
  dump(): Promise<string>
  /**
   * Sends a request that must be refused, and sees to what holds for every refusal: nothing is stored, nothing is
   * logged, no value gets out, the answer is short, and the service still counts right.
   */
  refuse(line: string, expected: Refusal, options?: SendOptions): Promise<Sent>
}

export interface Refusal {
  readonly status: number
  readonly code: string
}

export const INVALID_QUERY: Refusal = { status: 400, code: 'invalid_query' }
export const INVALID_JSON: Refusal = { status: 400, code: 'invalid_json' }
export const INVALID_BODY: Refusal = { status: 400, code: 'validation_failed' }
export const UNAUTHENTICATED: Refusal = { status: 401, code: 'unauthenticated' }
export const INVALID_TOKEN: Refusal = { status: 401, code: 'invalid_token' }
export const INVALID_CREDENTIALS: Refusal = { status: 401, code: 'invalid_credentials' }
export const FORBIDDEN: Refusal = { status: 403, code: 'forbidden' }
export const NOT_FOUND: Refusal = { status: 404, code: 'not_found' }
export const NOT_ALLOWED: Refusal = { status: 405, code: 'method_not_allowed' }
export const TAKEN: Refusal = { status: 409, code: 'unique_violation' }
export const TOO_LARGE: Refusal = { status: 413, code: 'body_too_large' }
export const TOO_LONG: Refusal = { status: 414, code: 'query_too_long' }
export const UNSUPPORTED: Refusal = { status: 415, code: 'unsupported_media_type' }

type Options = Parameters<typeof createTestService>[1]

export async function attack(
  config: Parameters<typeof createTestService>[0] & object = CONFIG,
  options: Options & object = { documents: { users: USERS, posts: POSTS } },
): Promise<Attacked> {
  const { documents, adapter: given, ...others } = options
  const adapter = spyOn(given ?? createMemoryAdapter(documents ? { documents } : {}))
  const service = createTestService(config, { clientAddress: () => '203.0.113.9', ...others, adapter })
  await service.handler.ready()
  const names = Object.keys(config.collections as object)
  const hasAccounts = JSON.stringify(config).includes('"hash"') && names.includes('users')
  const stored = hasAccounts && !options.authenticate ? [...names, '_sessions'] : names
  const dump = (): Promise<string> => adapter.dump(stored)
  // What was said at the start is not what a request had logged.
  service.logged.length = 0
  adapter.calls.length = 0
  return {
    ...service,
    adapter,
    dump,
    async refuse(line, expected, sending) {
      const before = await dump()
      const countBefore = await countPosts(service)
      const logged = service.logged.length
      adapter.calls.length = 0
      const sent = await service.send(line, sending)
      const calls = [...adapter.calls]
      expect({ status: sent.status, code: sent.body?.code }, `${line}: ${sent.text}`).toEqual(expected)
      expectRefusal(sent)
      const isPlainRead = /^(?:GET|HEAD) /.test(line) && sending?.token === undefined
      if (isPlainRead && expected.code !== 'not_found') expect(calls).toEqual([])
      expect(await dump()).toBe(before)
      expect(await countPosts(service)).toBe(countBefore)
      expect(service.logged.slice(logged)).toEqual([])
      return sent
    },
  }
}

/** The canary: a request that must be answered right whatever came before it. */
async function countPosts({ send }: TestService): Promise<number | undefined> {
  const { status, body } = await send('GET /posts/count')
  return status === 200 ? body.total : undefined
}

/** What others may never learn from an error. */
const VALUES = /zeta|\beta\b|\$2[aby]\$|-secret-\d|example\.com|\+43\d/

/** What holds for the body of every error, beside what the support sees to. */
export function expectRefusal({ text, headers }: Sent): void {
  expect(headers.get('content-type')).toBe('application/problem+json')
  expect(text.length).toBeLessThan(4096)
  expect(text).not.toMatch(VALUES)
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(PROTOTYPE)
}

const PROTOTYPE = Object.getOwnPropertyNames(Object.prototype)

/** The same as `test.each` takes it: a title and what it is about. */
export type Case<T extends readonly unknown[]> = readonly [what: string, ...rest: T]

/** Signs in and returns the token. */
export async function logIn({ send }: TestService, who: keyof typeof SECRETS): Promise<string> {
  const body = { email: `${who}@example.com`, password: SECRETS[who] }
  const { status, body: answer } = await send('POST /auth/login', { body })
  expect(status).toBe(200)
  return answer.token
}
