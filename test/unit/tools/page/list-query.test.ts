import { describe, expect, test } from 'vitest'
import {
  EMPTY_QUERY,
  readListQuery,
  toFilter,
  toggleEquality,
  writeListQuery,
  writeNext,
} from '../../../../src/tools/page/app/model/list-query.js'
import { readPlace, writePlace } from '../../../../src/tools/page/app/model/place.js'
import { toClientLine, toCode, toCurl } from '../../../../src/tools/page/app/model/requests/request-lines.js'

const QUERY = {
  ...EMPTY_QUERY,
  all: [
    { path: 'state', operator: '$eq', value: 'open & "more"' },
    { path: 'views', operator: '$gte', value: 3 },
    { path: 'title', operator: '$contains', value: 'a.b (c)' },
    { path: 'tag', operator: '$in', value: ['x', 'y'] },
  ],
  any: [[{ path: 'a.b', operator: '$ne', value: null }], [{ path: 'c', operator: '$exists', value: true }]],
  sort: [{ path: 'title', descending: true }],
  project: ['title'],
  after: 'cursor',
}

test('what a list asks for is read back from the query of the API', () => {
  expect(readListQuery(writeListQuery(QUERY))).toEqual(QUERY)
  expect(writeListQuery(EMPTY_QUERY)).toBe('')
})

test.each([
  'q[t][$regex]="^a"&q[t][$options]=i',
  'q[s]="one"&q[s]="two"',
  'q[s]=1e3',
  'q[s][$in]=["a",null]',
  'q[s]="not closed',
  'q[$or][0][$or][0][s]="a"&q[$or][0][$or][1][s]="b"',
  'q[$or][1][s]="a"',
  'q[s][$eq]=1',
  'q[s][]=1',
  'q=1',
  'q[$or][__proto__][s]=1',
])('a filter that is no list of conditions stays as it is: %s', (text) => {
  const read = readListQuery(text)
  expect(read).toEqual({ ...EMPTY_QUERY, filter: [...new URLSearchParams(text)] })
  expect([...new URLSearchParams(writeListQuery(read))]).toEqual([...new URLSearchParams(text)])
})

test.each([
  ['q[t]=Ann', 'q[t]="Ann"'],
  ['q[t][$regex]=[ab]', 'q[t][$regex]="[ab]"'],
  ['q[t][$regex]=a.b&q[t][$options]=i', undefined],
  ['sort[t]=desc&skip=5', 'sort[t]=-1&skip=5'],
])('%s is read, and written as %s', (text, written = text) => {
  expect([...new URLSearchParams(writeListQuery(readListQuery(text)))]).toEqual([
    ...new URLSearchParams(written),
  ])
})

test.each([
  'foo=1',
  'limit=2',
  'total=true',
  'skip=many',
  'skip=0',
  'project=[1]',
  'sort[t]=up',
  'sort[t]=1&sort[t]=-1',
  'after=a&after=b',
])('%s is sent as it is', (text) => {
  const read = readListQuery(text)
  expect(read.others).toEqual([...new URLSearchParams(text)])
  expect(writeListQuery(read)).toBe(text)
})

test('conditions that come again hold too', () => {
  const contains = (value: string) => ({ path: 't', operator: '$contains', value })
  const twice = { ...EMPTY_QUERY, all: [contains('a'), contains('b'), contains('c')] }
  const [a, b, c] = ['a', 'b', 'c'].map((text) => ({ $regex: text, $options: 'i' }))
  expect(toFilter(twice)).toEqual({ t: a, $or: [{ t: b, $or: [{ t: c }] }] })
  const read = readListQuery(writeListQuery(twice))
  expect(read.filter).toEqual([])
  expect(toFilter(read)).toEqual(toFilter(twice))
  expect(
    toFilter({
      ...twice,
      all: twice.all.slice(0, 2),
      any: [[{ path: 'n', operator: '$eq', value: 1 }], [contains('c')]],
    }),
  ).toEqual({
    t: a,
    $or: [
      { n: { $eq: 1 }, t: b },
      { t: c, $or: [{ t: b }] },
    ],
  })
})

test('the same filter goes to the typed client', () => {
  expect(toFilter(QUERY)).toEqual({
    state: { $eq: 'open & "more"' },
    views: { $gte: 3 },
    title: { $regex: 'a\\.b \\(c\\)', $options: 'i' },
    tag: { $in: ['x', 'y'] },
    $or: [{ 'a.b': { $ne: null } }, { c: { $exists: true } }],
  })
})

test('a click on a count filters from the first page on, and again takes it back', () => {
  const on = toggleEquality({ ...EMPTY_QUERY, after: 'x', skip: 9 }, 'done', true)
  expect(on).toEqual({ ...EMPTY_QUERY, all: [{ path: 'done', operator: '$eq', value: true }] })
  expect(toggleEquality(on, 'done', true)).toEqual(EMPTY_QUERY)
  expect(toggleEquality(on, 'done', false).all).toEqual([{ path: 'done', operator: '$eq', value: false }])
})

test.each([
  ['#/', { view: 'collections' }],
  ['#/account', { view: 'account' }],
  ['#/list/a-b?q[x]="?"', { view: 'list', collection: 'a-b', query: 'q[x]="?"' }],
  ['#/document/a/b%2Fc', { view: 'document', collection: 'a', id: 'b/c' }],
  ['#/new/a', { view: 'new', collection: 'a', query: '' }],
] as const)('%s is the address of a view', (address, place) => {
  expect(readPlace(address)).toEqual(place)
  expect(readPlace(writePlace(place))).toEqual(place)
})

test.each(['', '#', '#/nothing', '#/list', '#/document/a', '#/%E0%A4%A'])(
  '%j leads to the collections',
  (address) => {
    expect(readPlace(address)).toEqual({ view: 'collections' })
  },
)

const SENT = { method: 'GET', path: '/a', query: '', isSignedIn: false }

test('a request is a line for a terminal, without a token and without a secret', () => {
  expect(toCurl('http://h', SENT)).toBe(`curl -g 'http://h/a'`)
  const login = {
    ...SENT,
    method: 'POST',
    path: '/auth/login',
    body: { email: `o'b`, password: 'x', pass: 'y' },
  }
  expect(toCurl('http://h', { ...login, isSignedIn: true }, new Set(['pass']))).toBe(
    `curl -g -X POST 'http://h/auth/login' -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"email":"o'\\''b","password":"…","pass":"…"}'`,
  )
})

test.each([
  [
    { ...SENT, query: 'q[s]="x"&sort[t]=-1&limit=5' },
    `await client.collection('a').list({ q: { s: { $eq: 'x' } }, sort: { t: 'desc' }, limit: 5 })`,
  ],
  [{ ...SENT, path: '/a/count' }, `await client.collection('a').count()`],
  [{ ...SENT, path: '/a/1' }, `await client.collection('a').get('1')`],
  [
    { ...SENT, method: 'PATCH', path: '/a/1', body: { t: "it's" } },
    `await client.collection('a').update('1', { t: 'it\\'s' })`,
  ],
  [{ ...SENT, method: 'DELETE', path: '/a/1' }, `await client.collection('a').delete('1')`],
  [{ ...SENT, method: 'POST', path: '/auth/logout' }, 'await client.auth.logout()'],
  [
    {
      ...SENT,
      method: 'POST',
      path: '/_batch',
      body: { operations: [{ method: 'PUT', path: '/a-b/1', ifNoneMatch: '*', body: { t: 1 } }] },
    },
    `await client.batch((b) => [\n  b['a-b'].create({ t: 1 }, { id: '1' }),\n])`,
  ],
  [{ ...SENT, path: '/_openapi.json' }, undefined],
  // Asked for what nothing has, it deletes nothing; as a line without that, it would.
  [{ ...SENT, method: 'DELETE', path: '/a/1', ifMatch: '"-"' }, undefined],
  // The client names no state: it holds to the one in which a document was read.
  [
    { ...SENT, method: 'PATCH', path: '/a/1', body: { t: 1 }, ifMatch: '"x"' },
    `await client.collection('a').update(seen, { t: 1 })`,
  ],
  [
    {
      ...SENT,
      method: 'POST',
      path: '/_batch',
      body: { operations: [{ method: 'DELETE', path: '/a/1', ifMatch: '"x"' }] },
    },
    `await client.batch((b) => [\n  b.a.delete(seen),\n])`,
  ],
  // It asks for none of these.
  [{ ...SENT, query: 'limit=25&after=cursor' }, undefined],
  [{ ...SENT, query: 'q[s]="a"&q[s]="b"' }, undefined],
  [{ ...SENT, query: 'total=true' }, undefined],
])('%j is a line of the typed client', (sent, line) => {
  expect(toClientLine(sent)).toBe(line)
})

test('code has quotes and names as programs have them', () => {
  expect(toCode({ 'a-b': ['x\n', null], c: {} })).toBe(`{ 'a-b': ['x\\n', null], c: {} }`)
})

describe('the next page', () => {
  const next = (query: string, headers: { readonly [name: string]: string }) =>
    writeNext(readListQuery(query), new Headers(headers))

  test.each([
    ['', { 'next-cursor': 'abc' }, 'after=abc'],
    ['sort[t]=-1&skip=5', { 'next-cursor': 'abc' }, 'sort[t]=-1&after=abc'],
    ['after=abc&q[a]=1', { 'next-cursor': 'def' }, 'q[a]=1&after=def'],
    ['after=abc', { 'next-skip': '50' }, 'skip=50'],
    ['skip=25', { 'next-skip': '50' }, 'skip=50'],
    ['skip=0&total=true', { 'next-cursor': 'abc' }, 'after=abc&total=true'],
  ])('after %s', (query, headers, expected) => {
    expect(next(query, headers)).toBe(expected)
  })

  test('is not there where no header leads to it, whatever a Link says', () => {
    expect(next('skip=5', {})).toBeUndefined()
    expect(next('', { link: '</notes?after=abc>; rel="next"' })).toBeUndefined()
  })
})
