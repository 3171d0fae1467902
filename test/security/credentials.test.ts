import { beforeAll, describe, expect, test } from 'vitest'
import { createMemoryAdapter } from '../../src/index.js'
import { createTestHasher } from '../../src/tools/testing/index.js'
import { faultsOf, type SendOptions } from '../support/service.js'
import {
  ANN,
  type Attacked,
  attack,
  type Case,
  INVALID_BODY,
  INVALID_CREDENTIALS,
  INVALID_QUERY,
  INVALID_TOKEN,
  NOT_ALLOWED,
  SECRETS,
  ZOE,
} from './fixture.js'

let service: Attacked
beforeAll(async () => {
  service = await attack()
})

const LONG_ENOUGH = 'longenough1'
const register = (fields: object): SendOptions => ({
  body: { email: 'n@x.co', password: LONG_ENOUGH, ...fields },
})

test.each<Case<[body: object, faults: object]>>([
  ...[{ $ne: null }, ['n@x.co'], 5, true, null].map(
    (email): Case<[object, object]> => [
      `the identifier ${JSON.stringify(email)}`,
      { email },
      { '/email': 'wrong_type' },
    ],
  ),
  ['no identifier', { email: undefined }, { '/email': 'required' }],
  ['an empty identifier', { email: '' }, { '/email': 'wrong_format' }],
  ...[{ $ne: null }, [LONG_ENOUGH], 12345678, true, null].map(
    (password): Case<[object, object]> => [
      `the secret ${JSON.stringify(password)}`,
      { password },
      { '/password': 'wrong_type' },
    ],
  ),
  ['no secret', { password: undefined }, { '/password': 'required' }],
  ['an empty secret', { password: '' }, { '/password': 'too_short' }],
  ['a secret of seven characters', { password: 'seven77' }, { '/password': 'too_short' }],
  ['a secret of seven emoji', { password: '😀'.repeat(7) }, { '/password': 'too_short' }],
  ['a secret of 73 bytes', { password: `${'a'.repeat(72)}X` }, { '/password': 'too_long' }],
  [
    'a secret of 73 bytes that ends within a character',
    { password: `${'€'.repeat(24)}1` },
    { '/password': 'too_long' },
  ],
  ['a secret of 73 bytes in emoji', { password: `${'😀'.repeat(18)}1` }, { '/password': 'too_long' }],
  ['a secret of 64 characters and 192 bytes', { password: '漢'.repeat(64) }, { '/password': 'too_long' }],
  ['a secret with NUL at its end', { password: `${LONG_ENOUGH}\u0000` }, { '/password': 'invalid_text' }],
  ['a secret of NUL', { password: '\u0000'.repeat(8) }, { '/password': 'invalid_text' }],
  ['a secret with a lone surrogate', { password: `${LONG_ENOUGH}\ud800` }, { '/password': 'invalid_text' }],
  ['a secret of 200,000 bytes', { password: 'a'.repeat(200_000) }, { '/password': 'too_long' }],
  ...[
    'n\u200b@x.co',
    'n\u00ad@x.co',
    'n\u202e@x.co',
    'ﬁ@x.co',
    'n＠x.co',
    'n@x。co',
    'ı@x.co',
    'İ@x.co',
    'i\u0307@x.co',
    '\u212a@x.co',
    '\u2126@x.co',
    'ſ@x.co',
    'ａ@x.co',
    '\ue000@x.co',
    '😀@x.co',
    '1\u20e3@x.co',
    'é\u034f@x.co',
    'é\ufe0f@x.co',
    'é\u0301\u0301@x.co',
    '\u0301é@x.co',
    '\u3164@x.co',
    'pаypal@x.co',
    'οа@x.co',
    '1אב@x.co',
    `${'é'.repeat(33)}@x.co`,
    'e\u0301@x.co',
    'n@x.co,m@x.co',
    'n@x.co\u0000',
    'n@x.co\r\nbcc:m@x.co',
    'n@',
  ].map(
    (email): Case<[object, object]> => [
      `the identifier ${JSON.stringify(email)}`,
      { email },
      { '/email': expect.stringMatching(/^(?:wrong_format|invalid_text)$/) },
    ],
  ),
  [
    'an identifier of 255 characters',
    { email: `${'a'.repeat(250)}@x.co` },
    { '/email': expect.stringMatching(/^(?:wrong_format|too_long)$/) },
  ],
  [
    '__proto__ among what would be dropped',
    JSON.parse('{"__proto__":{"role":"admin"}}'),
    { '/__proto__': 'forbidden_name' },
  ],
])('a registration is refused for %s, without a hash', async (_what, fields, faults) => {
  const hashed: string[] = []
  const hasher = createTestHasher()
  const own = await attack(undefined, {
    hasher: {
      ...hasher,
      hash(secret) {
        hashed.push(secret)
        return hasher.hash(secret)
      },
    },
  })
  const raw = JSON.stringify({ email: 'n@x.co', password: LONG_ENOUGH, ...fields })
  const proto = Object.hasOwn(fields, '__proto__') ? raw.replace('{', '{"__proto__":{"role":"admin"},') : raw
  const sent = await own.refuse('POST /auth/register', INVALID_BODY, { raw: proto })
  expect(faultsOf(sent)).toEqual(faults)
  expect(hashed).toEqual([])
})

test.each([
  'é@x.co',
  'müller@example.de',
  '用户@example.cn',
  'पंकज@example.in',
  'иван@example.ru',
  'דוד-1@example.il',
])('a registration takes the identifier %s', async (email) => {
  const own = await attack()
  const { status, body } = await own.send('POST /auth/register', register({ email: email.toUpperCase() }))
  expect([status, body.user?.email ?? body]).toEqual([201, email])
})

test('a login with a letter that case mapping merges with one of ASCII is that of an unknown account', async () => {
  const own = await attack()
  expect((await own.send('POST /auth/register', register({ email: 'kim@x.co' }))).status).toBe(201)
  await own.refuse('POST /auth/login', INVALID_CREDENTIALS, {
    body: { email: '\u212aim@x.co', password: LONG_ENOUGH },
  })
  expect((await own.send('POST /auth/login', register({ email: 'KIM@x.co' }))).status).toBe(200)
})

test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'])('%s is no way to register', async (method) => {
  const { status, headers, body } = await service.send(`${method} /auth/register`)
  expect({ status, allow: headers.get('allow') }).toEqual({ status: 405, allow: 'POST, OPTIONS' })
  if (method !== 'HEAD') expect(body.code).toBe(NOT_ALLOWED.code)
})

test.each(['role=admin', 'q[email]="x"', 'email=n@x.co', '_method=PUT'])(
  'a registration takes nothing from the query: %s',
  async (query) => {
    await service.refuse(`POST /auth/register?${query}`, INVALID_QUERY, register({}))
    await service.refuse(`POST /auth/login?${query}`, INVALID_QUERY, register({}))
  },
)

describe('a login', () => {
  const wrong = { email: 'ann@example.com', password: 'wrong-secret-9' }
  const unknown = { email: 'nobody@example.org', password: 'wrong-secret-9' }

  test('costs one comparison at the same cost and gets the same answer, whether or not the account exists', async () => {
    const hasher = createTestHasher()
    const costs: string[] = []
    const own = await attack(undefined, {
      documents: { users: [{ _id: ANN, email: 'ann@example.com', password: SECRETS.ann }] },
      hasher: {
        hash: hasher.hash,
        verify(secret, hash) {
          costs.push(hash.slice(0, 7))
          return hasher.verify(secret, hash)
        },
      },
    })
    const answers = []
    for (const body of [
      wrong,
      unknown,
      { ...wrong, password: 'a'.repeat(200) },
      { ...wrong, password: 'a\u0000' },
      { ...unknown, email: 'a\u0000' },
    ]) {
      const { text, headers } = await own.refuse('POST /auth/login', INVALID_CREDENTIALS, { body })
      answers.push(text.replace(/"requestId":"[^"]*"/, '') + JSON.stringify([...headers]))
    }
    expect(new Set(answers).size).toBe(1)
    expect(costs).toEqual(Array(5).fill('$2b$04$'))
  })

  test.each<Case<[body: object, faults: object]>>([
    ...[{ $ne: null }, ['ann@example.com'], 5, true, null].map(
      (email): Case<[object, object]> => [
        `the identifier ${JSON.stringify(email)}`,
        { ...wrong, email },
        { '/email': 'wrong_type' },
      ],
    ),
    ...[{ $gt: '' }, [SECRETS.ann], 5, true, null].map(
      (password): Case<[object, object]> => [
        `the secret ${JSON.stringify(password)}`,
        { ...wrong, password },
        { '/password': 'wrong_type' },
      ],
    ),
    ['nothing', {}, { '/email': 'required', '/password': 'required' }],
    ['another name', { ...wrong, toString: 'x' }, { '/toString': 'unknown_property' }],
  ])('is refused for %s', async (_what, body, faults) => {
    expect(faultsOf(await service.refuse('POST /auth/login', INVALID_BODY, { body }))).toEqual(faults)
  })

  test.each<Case<[hash: unknown]>>([
    ['empty', ''],
    ['missing', null],
    ['no text', 5],
    ['of 59 characters', `$2b$04$${'a'.repeat(52)}`],
    ['of an unknown scheme', `$2x$04$${'a'.repeat(53)}`],
    ['of a cost that takes days', `$2b$31$${'a'.repeat(53)}`],
    ['of a cost that no hash has', `$2b$00$${'a'.repeat(53)}`],
    ['of a cost below the least', `$2b$03$${'a'.repeat(53)}`],
    ['not a hash', 'ann-secret-1'],
  ])('is refused, and soon, where the stored hash is %s', async (_what, hash) => {
    const memory = createMemoryAdapter({
      documents: { users: [{ _id: ANN, email: 'ann@example.com', password: SECRETS.ann }] },
    })
    const own = await attack(undefined, {
      adapter: {
        ...memory,
        async list(collection, query) {
          const documents = await memory.list(collection, query)
          return collection === 'users'
            ? documents.map((user) => ({ ...user, _hashes: { password: hash } }))
            : documents
        },
      },
    })
    for (const password of [SECRETS.ann, '', 'x']) {
      const sent = await own.send('POST /auth/login', {
        body: { email: 'ann@example.com', password },
        mayFail: true,
      })
      expect({ status: sent.status, code: sent.body.code }).toEqual(INVALID_CREDENTIALS)
    }
  })
})

const TOKEN = 'A'.repeat(43)

test.each<Case<[header: string]>>([
  ['unknown', `Bearer ${TOKEN}`],
  ['too short', 'Bearer abc'],
  ['too long', `Bearer ${TOKEN}A`],
  ['padded', `Bearer ${TOKEN}=`],
  ['empty', 'Bearer'],
  ['blank', 'Bearer  '],
  ['a JSON web token without a signature', 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.'],
  ['twice', `Bearer ${TOKEN}, Bearer ${TOKEN}`],
  ['behind another scheme', `Basic ${TOKEN}`],
  ['without a scheme', TOKEN],
  ['an id', `Bearer ${ZOE}`],
  ['of 64,000 characters', `Bearer ${'a'.repeat(64000)}`],
  ['behind 64,000 blanks', `Bearer ${' '.repeat(64000)}x`],
  ['before 64,000 blanks', `Bearer x${' '.repeat(64000)}x`],
])('is refused on public data too when it is %s', async (_what, authorization) => {
  for (const path of ['/posts', '/posts/count', '/locked', '/auth/me', `/users/${ANN}`]) {
    const sent = await service.send(`GET ${path}`, { headers: { authorization } })
    expect({ status: sent.status, code: sent.body.code }).toEqual(INVALID_TOKEN)
    expect(sent.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
  }
  expect(service.logged).toEqual([])
})

describe('a host that says who calls', () => {
  test.each<Case<[authenticate: () => unknown]>>([
    [
      'throws',
      () => {
        throw new Error('no directory at ldap://10.0.0.1')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no directory'))],
    ['rejects with nothing', () => Promise.reject(undefined)],
    ['returns nothing', () => undefined],
    ['returns false', () => false],
    ['returns a name', () => 'ann'],
    ['returns a number as id', () => ({ id: 5 })],
    ['returns no id', () => ({ roles: ['admin'] })],
    ['returns roles as a word', () => ({ id: ANN, roles: 'admin' })],
    ['returns roles that are no words', () => ({ id: ANN, roles: [{}] })],
  ])('makes nobody anonymous when it %s', async (_what, authenticate) => {
    const own = await attack(undefined, { authenticate: authenticate as () => null })
    for (const path of ['/posts', '/locked', '/open']) {
      const sent = await own.send(`GET ${path}`, { mayFail: true })
      expect({ status: sent.status, code: sent.body.code }).toEqual({ status: 500, code: 'internal_error' })
      expect(sent.text).not.toMatch(/ldap|directory/)
    }
  })

  test('takes the place of tokens and of the routes to accounts', async () => {
    const own = await attack(undefined, { authenticate: () => null })
    for (const path of ['register', 'login', 'logout', 'me']) {
      const sent = await own.send(`POST /auth/${path}`, register({}))
      expect({ status: sent.status, code: sent.body.code }).toEqual({ status: 404, code: 'not_found' })
    }
    expect((await own.send('GET /posts', { token: 'x' })).status).toBe(200)
    expect((await service.send('GET /posts', { token: 'x', caller: null })).status).toBe(200)
    expect((await service.send('GET /auth/me', { caller: { id: ANN } })).status).toBe(404)
  })
})
