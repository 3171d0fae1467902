import { beforeAll, describe, expect, test } from 'vitest'
import { ConfigError } from '../../src/index.js'
import { describeApi } from '../../src/tools/openapi/describe-api.js'
import { REWRITES } from '../support/rewritten-tags.js'
import { type AnyConfig, createTestService, type SendOptions, type Sent } from '../support/service.js'
import { rounds } from '../support/tier.js'
import {
  AS_ADMIN,
  AS_ANN,
  type Attacked,
  attack,
  type Case,
  CONFIG,
  INVALID_QUERY,
  INVALID_TOKEN,
  logIn,
  NOT_ALLOWED,
  NOT_FOUND,
  type Refusal,
  USERS,
} from './fixture.js'

// CONTRACT.md §8, "OpenAPI", §5, "No leak": what a service says of itself tells a caller nothing of the rights of others.

const PATH = '/_openapi.json'
const LINE = `GET ${PATH}`
const DAY = 24 * 60 * 60 * 1000

let time = Date.UTC(2026, 0, 1)
/** What the service does after answers. */
const works: Promise<unknown>[] = []
let service: Attacked
let ofNobody: Sent
let ofAdmin: Sent
beforeAll(async () => {
  service = await attack(CONFIG, {
    openapi: true,
    documents: { users: USERS },
    now: () => time,
    background: (work) => void works.push(work),
  })
  ofNobody = await service.send(LINE)
  ofAdmin = await service.send(LINE, { caller: AS_ADMIN })
})

const tagOf = ({ headers }: Sent): string => headers.get('etag') ?? ''

describe('is refused', () => {
  const BAD_TOKEN = { token: 'not-a-token' }
  test.each<Case<[line: string, expected: Refusal]>>([
    ['a query', `${LINE}?x=1`, INVALID_QUERY],
    ['a caller in the query', `${LINE}?caller={"roles":["admin"]}`, INVALID_QUERY],
    ['a role in the query', `${LINE}?roles=admin`, INVALID_QUERY],
    ['a condition', `${LINE}?q[title]=x`, INVALID_QUERY],
    ['a projection', `${LINE}?project=["paths"]`, INVALID_QUERY],
    ['a prototype', `${LINE}?__proto__=1`, INVALID_QUERY],
    ['POST', `POST ${PATH}`, NOT_ALLOWED],
    ['DELETE', `DELETE ${PATH}`, NOT_ALLOWED],
    ['something below it', `${LINE}/x`, NOT_FOUND],
    ['a count of it', `${LINE}/count`, NOT_FOUND],
    ['two slashes before it', 'GET //_openapi.json', NOT_FOUND],
    ['two slashes behind it', `${LINE}//`, NOT_FOUND],
    ['another case', 'GET /_OpenAPI.json', NOT_FOUND],
    ['no ending', 'GET /_openapi', NOT_FOUND],
    ['another ending', `${LINE}.js`, NOT_FOUND],
    ['an ending for caches', `${LINE}/x.css`, NOT_FOUND],
    ['a semicolon', `${LINE};x.css`, NOT_FOUND],
    ['a zero byte', `${LINE}%00`, NOT_FOUND],
    ['a space', `${LINE}%20`, NOT_FOUND],
    ['what is encoded twice', 'GET /%255Fopenapi.json', NOT_FOUND],
    ['an encoded slash', 'GET /%2F_openapi.json', NOT_FOUND],
    ['a place below accounts', 'GET /auth/_openapi.json', NOT_FOUND],
  ])('%s', async (_, line, expected) => {
    await service.refuse(line, expected)
  })

  test.each<Case<[line: string, expected: Refusal, sending: SendOptions]>>([
    ['POST with a body', `POST ${PATH}`, NOT_ALLOWED, { body: { caller: AS_ADMIN } }],
    ['PUT', `PUT ${PATH}`, NOT_ALLOWED, { body: {} }],
    ['PATCH', `PATCH ${PATH}`, NOT_ALLOWED, { body: {} }],
    ['a token that is none', LINE, INVALID_TOKEN, BAD_TOKEN],
    ['such a token before a query', `${LINE}?x=1`, INVALID_TOKEN, BAD_TOKEN],
    ['a method before such a token', `POST ${PATH}`, NOT_ALLOWED, BAD_TOKEN],
  ])('%s', async (_, line, expected, sending) => {
    await service.refuse(line, expected, sending)
  })

  test('a token that has expired, or was ended', async () => {
    const [expired, ended] = [await logIn(service, 'zoe'), await logIn(service, 'zoe')]
    expect((await service.send(LINE, { token: expired })).status).toBe(200)
    await service.send('POST /auth/logout', { token: ended })
    await service.refuse(LINE, INVALID_TOKEN, { token: ended })
    time += 400 * DAY
    // The next answer begins the removal of what has expired.
    await service.send(LINE)
    await Promise.all(works)
    await service.refuse(LINE, INVALID_TOKEN, { token: expired })
    await service.refuse(LINE, INVALID_TOKEN, {
      token: expired,
      headers: { 'if-none-match': `${tagOf(ofAdmin)}, *` },
    })
  })
})

test.each(['/%5Fopenapi.json', '/_openapi%2Ejson', '/_openapi.json/', '/x/../_openapi.json'])(
  '%s is the same place, with the same rights',
  async (path) => {
    expect((await service.send(`GET ${path}`)).text).toBe(ofNobody.text)
    expect((await service.send(`GET ${path}`, { caller: AS_ADMIN })).text).toBe(ofAdmin.text)
  },
)

test('the token of a session shows what its user may do, and not before the role is there', async () => {
  const own = await attack(CONFIG, { openapi: true, documents: { users: USERS } })
  const [ann, zoe] = [await logIn(own, 'ann'), await logIn(own, 'zoe')]
  const ask = async (token: string) => (await own.send(LINE, { token })).text
  const [anns, zoes] = [await ask(ann), await ask(zoe)]
  expect(anns).not.toContain('posts.q.secret')
  expect(zoes).not.toBe(anns)
  const path = `/users/${AS_ANN.id}`
  expect((await own.send(`PATCH ${path}`, { token: zoe, body: { role: 'admin' } })).status).toBe(200)
  expect(await ask(ann)).toBe(zoes)
  expect((await own.send(`PATCH ${path}`, { token: zoe, body: { role: null } })).status).toBe(200)
  expect(await ask(ann)).toBe(anns)
})

describe('an entity tag', () => {
  /** What an answer tells, but for what is random in it. */
  const told = ({ status, headers, text }: Sent) => [
    status,
    [...headers],
    text.replace(/"requestId":"[^"]*"/, ''),
  ]

  test('differs wherever the documents do', async () => {
    const ofAnn = await service.send(LINE, { caller: AS_ANN })
    const all = [ofNobody, ofAnn, ofAdmin]
    expect(new Set(all.map(({ text }) => text)).size).toBe(3)
    expect(new Set(all.map(tagOf)).size).toBe(3)
  })

  test.each(['if-none-match', 'if-match'])(
    'of a caller with more rights, in %s, is worth no more than one made up',
    async (name) => {
      const ask = (tag: string) => service.send(LINE, { caller: AS_ANN, headers: { [name]: tag } })
      const [real, madeUp] = [tagOf(ofAdmin), `"${'0'.repeat(32)}"`]
      for (const write of [
        (tag: string) => tag,
        ...REWRITES.map(([, rewrite]) => rewrite),
        (tag: string) => `"x", ${tag}`,
      ]) {
        const answer = await ask(write(real))
        expect(told(answer)).toEqual(told(await ask(write(madeUp))))
        expect(answer.status).toBe(name === 'if-match' ? 412 : 200)
      }
    },
  )

  test.each(['GET', 'HEAD'])('of the caller gives 304 to %s, without a body', async (method) => {
    const { status, text, headers } = await service.send(`${method} ${PATH}`, {
      caller: AS_ADMIN,
      headers: { 'if-none-match': tagOf(ofAdmin) },
    })
    expect([status, text]).toEqual([304, ''])
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('vary')).toContain('Authorization')
  })
})

test.each<Case<[sending: SendOptions]>>([
  ['nobody', {}],
  ['a user', { caller: AS_ANN }],
  ['an admin', { caller: AS_ADMIN }],
])('what %s is answered is for caches what another personal answer is, HEAD like GET', async (_, sending) => {
  const headersOf = async (line: string) => {
    const { status, headers } = await service.send(line, sending)
    const of = (name: string) => headers.get(name)
    return [status, of('cache-control'), of('vary'), of('x-content-type-options'), of('content-type')]
  }
  expect(await headersOf(LINE)).toEqual(await headersOf('GET /posts'))
  expect(await headersOf(`HEAD ${PATH}`)).toEqual(await headersOf(LINE))
  const [head, whole] = [await service.send(`HEAD ${PATH}`, sending), await service.send(LINE, sending)]
  expect([head.text, tagOf(head)]).toEqual(['', tagOf(whole)])
})

describe('the roles of a host', () => {
  const MANY = Array.from({ length: 1000 }, (_, i) => `role-${i}`)

  test.each<Case<[roles: readonly string[]]>>([
    ['a thousand', MANY],
    ['a long one', ['x'.repeat(100_000)]],
    ['prototypes', ['__proto__', 'constructor', 'toString', 'prototype']],
    ['empty', ['']],
    ['the admin, almost', ['Admin', 'admin ', 'ａdmin', '["admin"]', 'admin,user']],
    ['the admin, as a part of a key', ['admin"],[', '","admin', '\\"admin\\"', ']]', 'null']],
    ['markup', ['</script><script>alert(1)</script>', '{{admin}}']],
  ])('%s, that no rule mentions, show what a caller without them is shown', async (_, roles) => {
    const { text: without } = await service.send(LINE, { caller: AS_ANN })
    for (const caller of [
      { ...AS_ANN, roles },
      { ...AS_ANN, roles: [...roles].reverse() },
    ]) {
      const { status, text } = await service.send(LINE, { caller })
      expect(status).toBe(200)
      expect(text).toBe(without)
    }
    const both = await service.send(LINE, { caller: { ...AS_ANN, roles: [...roles, 'admin'] } })
    expect(both.text).toBe(ofAdmin.text)
  })

  test.each<Case<[role: string]>>([
    ['half a character', '\ud800'],
    ['a zero byte', 'admin\u0000'],
  ])('%s is the fault of the host that it is elsewhere', async (_, role) => {
    const sending = { caller: { ...AS_ANN, roles: [role] }, mayFail: true }
    const [here, elsewhere] = [await service.send(LINE, sending), await service.send('GET /posts', sending)]
    expect([here.status, here.body.code]).toEqual([elsewhere.status, elsewhere.body.code])
    expect(here.status).toBe(500)
  })

  test('hundreds of sets of them, in any order and twice, each show what they allow', async () => {
    const names = Array.from({ length: 14 }, (_, i) => `r${i}`)
    const config: AnyConfig = {
      collections: Object.fromEntries(
        names.map((name) => [`of${name}`, { schema: {}, permissions: { [name]: { read: true } } }]),
      ),
    }
    const { send } = createTestService(config, { openapi: true, authenticate: () => null })
    const ask = async (roles: readonly string[]) =>
      Object.keys((await send(LINE, { caller: { id: 'ann', roles } })).body.paths).filter((path) =>
        /^\/of[^/]*$/.test(path),
      )
    // An odd step reaches every set once before any again, and those that follow each other differ much.
    for (let i = 0; i < rounds(32, 10_000); i += 1) {
      const set = (i * 6529) % 2 ** names.length
      const roles = names.filter((_, at) => (set >> at) & 1)
      expect(await ask(roles)).toEqual(roles.map((name) => `/of${name}`))
      if (i % 8 === 0) expect(await ask([...roles, ...roles].reverse())).toEqual(await ask(roles))
    }
  })
})

describe('names that a configuration brings', () => {
  const MARKUP = '</script><img src=x onerror=alert(1)>{{x}}\u2028"\\'

  const OPEN = '{"schema":{},"permissions":{"*":{"read":true}}}'
  test.each<Case<[collections: string]>>([
    ['a collection called like the place', `{"_openapi.json":${OPEN}}`],
    ['a collection called like its beginning', `{"_openapi":${OPEN}}`],
    ['a collection called __proto__', `{"__proto__":${OPEN}}`],
    ['a collection with markup in its name', `{"<b>":${OPEN}}`],
    ['a field with markup in its name', '{"a":{"schema":{"<b>":{"type":"string"}},"permissions":{}}}'],
    ['a field called __proto__', '{"a":{"schema":{"__proto__":{"type":"string"}},"permissions":{}}}'],
    ['a subject called __proto__', '{"a":{"schema":{},"permissions":{"__proto__":{"read":true}}}}'],
  ])('%s is refused at the start', (_, collections) => {
    const config = JSON.parse(`{"collections":${collections}}`)
    const create = () => createTestService(config, { openapi: true, authenticate: () => null })
    expect(create).toThrow(ConfigError)
    expect(() => describeApi(config, { authenticate: true })).toThrow(ConfigError)
  })

  test('markup in values is text, which no browser reads as anything else', async () => {
    const config = {
      collections: {
        notes: {
          schema: {
            kind: { type: 'string', enum: [MARKUP, 'b'], default: MARKUP },
            any: { type: 'json', default: JSON.parse('{"constructor":1}') },
            toString: { type: 'string' },
            hasOwnProperty: { type: 'string' },
          },
          permissions: { '*': true },
        },
        valueOf: { schema: { valueOf: { type: 'string' } }, permissions: { '*': true } },
        constructor: { schema: { valueOf: { type: 'string' } }, permissions: { '*': true } },
      },
    } as const
    const { send } = createTestService(config, { openapi: true })
    const { status, headers, body } = await send(LINE)
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/json')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(body).toEqual(describeApi(config, { caller: null }))
    expect(Object.keys(body.paths)).toEqual(expect.arrayContaining(['/valueOf', '/constructor']))
    expect(body.components.schemas.notes.properties.kind.enum).toContain(MARKUP)
    expect(Object.keys(body.components.schemas.notes.properties)).toEqual(
      expect.arrayContaining(['toString', 'hasOwnProperty']),
    )
  })

  test('a subject called like what every object has is one that a host must name', async () => {
    const config = { collections: { a: { schema: {}, permissions: { valueOf: { read: true } } } } }
    const { send } = createTestService(config, { openapi: true, authenticate: () => null })
    const shows = async (roles: readonly string[]) =>
      '/a' in (await send(LINE, { caller: { id: 'ann', roles } })).body.paths
    expect(await shows([])).toBe(false)
    expect(await shows(['toString', '__proto__'])).toBe(false)
    expect(await shows(['valueOf'])).toBe(true)
  })
})
