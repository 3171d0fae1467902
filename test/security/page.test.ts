import { beforeAll, describe, expect, test } from 'vitest'
import { ConfigError } from '../../src/index.js'
import { ASKERS, checkPage, PAGE } from '../support/page.js'
import { createTestService, type SendOptions } from '../support/service.js'
import {
  type Attacked,
  attack,
  type Case,
  CONFIG,
  INVALID_QUERY,
  INVALID_TOKEN,
  logIn,
  NOT_ALLOWED,
  NOT_FOUND,
  POSTS,
  type Refusal,
  USERS,
} from './fixture.js'

// CONTRACT.md §11: the page is a document that knows nothing of who asks for it, and that nobody can make say more.

const PATH = '/_page'
const LINE = `GET ${PATH}`

let service: Attacked
beforeAll(async () => {
  service = await attack(CONFIG, { page: PAGE, documents: { users: USERS, posts: POSTS } })
})

describe('is refused', () => {
  test.each<Case<[line: string, expected: Refusal]>>([
    ['a query', `${LINE}?x=1`, INVALID_QUERY],
    ['markup in the query', `${LINE}?<script>alert(1)</script>`, INVALID_QUERY],
    ['markup as a value', `${LINE}?x="><script>alert(1)</script>`, INVALID_QUERY],
    ['an address to go on to', `${LINE}?next=javascript:alert(1)`, INVALID_QUERY],
    ['a token in the query', `${LINE}?token=x`, INVALID_QUERY],
    ['a service to ask', `${LINE}?base=https://evil.example`, INVALID_QUERY],
    ['a prototype', `${LINE}?__proto__=1`, INVALID_QUERY],
    ['a condition', `${LINE}?q[title]=x`, INVALID_QUERY],
    ['something below it', `${LINE}/x`, NOT_FOUND],
    ['a count of it', `${LINE}/count`, NOT_FOUND],
    ['changes of it', `${LINE}/changes`, NOT_FOUND],
    ['a script beside it', `${LINE}/app.js`, NOT_FOUND],
    ['a way out of it', `${LINE}/..%2fusers`, NOT_FOUND],
    ['an ending for caches', `${LINE}/x.css`, NOT_FOUND],
    ['another ending', `${LINE}.html`, NOT_FOUND],
    ['a semicolon', `${LINE};x.css`, NOT_FOUND],
    ['two slashes before it', 'GET //_page', NOT_FOUND],
    ['two slashes behind it', `${LINE}//`, NOT_FOUND],
    ['another case', 'GET /_Page', NOT_FOUND],
    ['a zero byte', `${LINE}%00`, NOT_FOUND],
    ['a space', `${LINE}%20`, NOT_FOUND],
    ['a line feed', `${LINE}%0d%0aset-cookie:x=1`, NOT_FOUND],
    ['what is encoded twice', 'GET /%255Fpage', NOT_FOUND],
    ['an encoded slash', 'GET /%2F_page', NOT_FOUND],
    ['a place below accounts', 'GET /auth/_page', NOT_FOUND],
    ['a place below a collection', 'GET /posts/_page', NOT_FOUND],
    ['POST', `POST ${PATH}`, NOT_ALLOWED],
    ['PUT', `PUT ${PATH}`, NOT_ALLOWED],
    ['PATCH', `PATCH ${PATH}`, NOT_ALLOWED],
    ['DELETE', `DELETE ${PATH}`, NOT_ALLOWED],
  ])('%s', async (_, line, expected) => {
    // As JSON, which no browser takes for a page, a refusal may name what was sent.
    const { text, headers } = await service.refuse(line, expected)
    expect(text).not.toContain('doctype')
    expect(headers.get('content-security-policy')).toBeNull()
  })

  test.each<Case<[line: string, expected: Refusal, sending: SendOptions]>>([
    ['POST with a page', `POST ${PATH}`, NOT_ALLOWED, { body: PAGE }],
    ['a method over another', `POST ${PATH}`, NOT_ALLOWED, { headers: { 'x-http-method-override': 'GET' } }],
    ['a token that is none', LINE, INVALID_TOKEN, { token: 'not-a-token' }],
    ['such a token with a known tag', LINE, INVALID_TOKEN, { token: 'x', headers: { 'if-none-match': '*' } }],
    ['a method before such a token', `POST ${PATH}`, NOT_ALLOWED, { token: 'not-a-token' }],
  ])('%s', async (_, line, expected, sending) => {
    await service.refuse(line, expected, sending)
  })
})

test('it is the same for everyone, in every service and behind every header', async () => {
  await checkPage()
})

test.each(['/%5Fpage', '/_page/', '/x/../_page', '/%5f%70age'])('%s is the same place', async (path) => {
  const { status, text, headers } = await service.send(`GET ${path}`)
  expect([status, text]).toEqual([200, PAGE.html])
  expect(headers.get('content-security-policy')).toBe(PAGE.policy)
})

test('for every caller, no document is read, and nothing is written', async () => {
  const tokens = [await logIn(service, 'ann'), await logIn(service, 'zoe')]
  const before = await service.dump()
  service.adapter.calls.length = 0
  for (const sending of [...ASKERS, ...tokens.map((token) => ({ token }))])
    expect((await service.send(LINE, sending)).text).toBe(PAGE.html)
  // A token is looked up, and with it whose it is.
  expect(service.adapter.calls.filter((call) => !/^list (?:_sessions|users)$/.test(call))).toEqual([])
  expect(await service.dump()).toBe(before)
})

test('it sets no cookie, leads nowhere, and lets no other origin in', async () => {
  for (const sending of ASKERS) {
    const { headers } = await service.send(LINE, sending)
    for (const name of ['set-cookie', 'location', 'link', 'refresh', 'access-control-allow-origin'])
      expect(headers.get(name), name).toBeNull()
  }
})

test('a collection of its name is refused at the start', () => {
  const config = { collections: { _page: { schema: {}, permissions: { '*': true } } } }
  expect(() => createTestService(config, { page: PAGE })).toThrow(ConfigError)
})
