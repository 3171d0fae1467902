import { beforeAll, describe, expect, test } from 'vitest'
import { type Attacked, attack, type Case, INVALID_BODY, INVALID_QUERY, P1, POSTS } from './fixture.js'

let service: Attacked
beforeAll(async () => {
  const bodies = ['a'.repeat(60_000), ' '.repeat(60_000), `${'x'.repeat(59_999)}!`, 'ab'.repeat(30_000)]
  service = await attack(undefined, {
    documents: { posts: [...POSTS, ...bodies.map((body) => ({ body: `${body}.` }))] },
  })
})

/** What takes more than linear time here takes longer than any test may. */
const PATTERNS = [
  '(a+)+$',
  '(a|a)*$',
  '(a|aa)+$',
  '(x+x+)+y',
  '^(\\w+\\s?)*$',
  '(.*a){20}$',
  '\\s+$',
  '(.*)(.*)(.*)(.*)=',
  '(a*)*b',
  '([a-z]+)*\\d$',
  '^(([a-z])+.)+[A-Z]([a-z])+$',
  '(?:a?){30}a{30}$',
  '(\\w*)*!$',
  '[ab]*[^z]{50}[cd]$',
]

test.each(PATTERNS)('the pattern %s takes no more time on a text that is made for it', async (pattern) => {
  for (const options of ['', '&q[body][$options]=i']) {
    const { status } = await service.send(
      `GET /posts/count?q[body][$regex]=${encodeURIComponent(pattern)}${options}`,
    )
    expect(status).toBe(200)
  }
})

test('20 such patterns at once do not keep a plain request waiting', async () => {
  const many = Array.from({ length: 20 }, (_, i) =>
    service.send(
      `GET /posts/count?q[body][$regex]=${encodeURIComponent(PATTERNS[i % PATTERNS.length] ?? '')}`,
    ),
  )
  expect(await service.list('/posts?limit=1', '_id')).toEqual([P1])
  for (const { status } of await Promise.all(many)) expect(status).toBe(200)
})

test.each([
  '((a{100}){100}){100}',
  'a{1000000}',
  'a{1001}',
  '(a{32}){32}',
  'a{99999999999}',
  'a'.repeat(513),
  '(?=a)',
  '(?!a)',
  '(?<=a)b',
  '(?<!a)b',
  '(a)\\1',
  '(?<n>a)\\k<n>',
  '(?<n>a)',
  '(?i)a',
  '(?i:a)',
  '\\0',
  'a\u0000',
  '\\x41',
  '\\u0041',
  '\\u{41}',
  '\\p{L}',
  '\\cA',
  '[\\b]',
  '[]',
  '[^]',
  'a++',
  '\\A',
  '\\z',
  '\\Q',
  '[[:alpha:]]{',
  '\\',
])(
  'a pattern is refused that not every engine would read alike, or that is too large: %s',
  async (pattern) => {
    await service.refuse(`GET /posts?q[title][$regex]=${encodeURIComponent(pattern)}`, INVALID_QUERY)
  },
)

test('a pattern of 2,000 alternatives is refused, one of 250 is not', async () => {
  const alternatives = (count: number): string => Array(count).fill('a').join('|')
  await service.refuse(`GET /posts?q[title][$regex]=${alternatives(2000)}`, INVALID_QUERY)
  expect((await service.send(`GET /posts/count?q[title][$regex]=${alternatives(250)}`)).body).toEqual({
    total: 3,
  })
})

test('64 conditions on 4,000 documents are soon judged', async () => {
  const own = await attack(undefined, {
    documents: { open: Array.from({ length: 4000 }, (_, n) => ({ name: `name ${n}`, n })) },
  })
  const query = `q[name][$regex]=(a|b)*m&q[n][$gte]=0&q[n][$in]=[${Array.from({ length: 90 }, (_, i) => i).join(',')}]`
  expect((await own.send(`GET /open/count?${query}`)).body).toEqual({ total: 90 })
  expect(await own.list('/open?skip=100000', '_id')).toEqual([])
})

describe('a body that is made to be slow is soon refused', () => {
  test.each<Case<[raw: string]>>([
    ['60,000 elements of a wrong type', `{"title":"x","tags":[${Array(60_000).fill(1).join()}]}`],
    ['20,000 undeclared names', `{${Array.from({ length: 20_000 }, (_, i) => `"p${i}":1`).join()}}`],
    ['20,000 names that are numbers', `{${Array.from({ length: 20_000 }, (_, i) => `"${i}":1`).join()}}`],
    [
      'many objects that hold __proto__ at the end',
      `{"tags":[${Array(20_000).fill('{"a":1}').join()},{"__proto__":1}]}`,
    ],
    ['a text of escapes', `{"title":"${'\\u0000'.repeat(40_000)}"}`],
    ['a text of backslashes', `{"title":"${'\\\\'.repeat(120_000)}"}`],
  ])('%s', async (_what, raw) => {
    const caller = { id: 'z', roles: ['admin'] }
    const sent = await service.send('POST /posts', { raw, caller })
    expect({ status: sent.status, code: sent.body.code }).toEqual(INVALID_BODY)
    expect(sent.body.errors.length).toBeLessThanOrEqual(50)
    expect(sent.text.length).toBeLessThan(65_536)
  })
})

test('an index over an array takes no entries beyond its bounds', async () => {
  const texts = { type: 'array', items: { type: 'string' } }
  const schema = { tags: { ...texts, maxItems: 1000, index: true }, free: texts }
  const own = await attack(
    { collections: { c: { schema, permissions: { '*': { create: true, read: true } } } } },
    { documents: { c: [{ tags: ['a'] }] } },
  )
  const before = await own.dump()
  const bodies = [
    { tags: Array.from({ length: 1001 }, (_, i) => `${i}`) },
    { tags: Array.from({ length: 60_000 }, () => '') },
    { tags: ['a', 'ä'.repeat(513)] },
    { tags: ['a', 'x'.repeat(200_000)] },
  ]
  for (const body of bodies) {
    const sent = await own.send('POST /c', { body })
    expect({ status: sent.status, code: sent.body.code }).toEqual(INVALID_BODY)
  }
  expect(await own.dump()).toBe(before)
  const { status } = await own.send('POST /c', { body: { tags: ['ä'.repeat(512)], free: ['ä'.repeat(513)] } })
  expect(status).toBe(201)
  // A value that no index can hold is asked for like any other.
  for (const value of ['a', 'x'.repeat(4000), '\u{1f600}', "'"])
    expect((await own.send(`GET /c/count?q[tags]=${encodeURIComponent(value)}`)).status).toBe(200)
})

test.each([
  'authorization',
  'accept',
  'content-type',
  'origin',
  'content-encoding',
  'access-control-request-method',
  'cookie',
  'range',
])('a header of 64,000 blanks is read without delay: %s', async (name) => {
  const value = `a${' '.repeat(64_000)}b`
  for (const line of ['GET /posts/count', 'POST /open', 'OPTIONS /posts']) {
    const { status } = await service.send(line, {
      headers: { [name]: value },
      ...(line.startsWith('POST') ? { raw: '{' } : {}),
    })
    expect(status).toBeLessThan(500)
  }
})

test('refused creations leave nothing behind', async () => {
  const schema = {
    code: { type: 'string', unique: true },
    mark: { type: 'string', unique: true },
    n: { type: 'integer' },
  }
  const own = await attack(
    { collections: { c: { schema, permissions: { '*': true } } } },
    { documents: { c: [{ code: 'taken' }] } },
  )
  const before = await own.dump()
  for (let i = 0; i < 300; i++) {
    const body = i % 2 === 0 ? { code: 'taken', mark: `m${i}` } : { code: `c${i}`, n: 'x' }
    expect((await own.send('POST /c', { body })).status).toBe(i % 2 === 0 ? 409 : 400)
  }
  expect(await own.dump()).toBe(before)
  for (let i = 0; i < 300; i++) {
    expect((await own.send('POST /c', { body: { mark: `m${i}`, code: `c${i}` } })).status).toBe(201)
  }
})
