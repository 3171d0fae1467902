import { beforeAll, describe, expect, test } from 'vitest'
import {
  AS_ANN,
  type Attacked,
  attack,
  type Case,
  INVALID_QUERY,
  P1,
  P2,
  P3,
  P4,
  TOO_LONG,
} from './fixture.js'

// CONTRACT.md §3.10

let service: Attacked
beforeAll(async () => {
  service = await attack()
})

const repeat = (count: number, print: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => print(i)).join('&')

const FIELDS = ['title', 'body', 'tags', '_id', 'createdBy', 'createdAt', 'updatedAt'] as const
const OPERATORS = ['$eq', '$ne', '$gt', '$gte', '$lt', '$lte', '$regex', '$exists', '$in', '$nin'] as const

/** As many conditions as asked for, no two on the same field and operator. */
const conditions = (count: number): string =>
  FIELDS.flatMap((field) =>
    OPERATORS.map((operator) => {
      const value = field.endsWith('At') ? '"2026-01-01"' : '"x"'
      if (operator === '$exists') return `q[${field}][${operator}]=true`
      return `q[${field}][${operator}]=${/n$/.test(operator) ? `[${value}]` : value}`
    }),
  )
    .slice(0, count)
    .join('&')

const MISSHAPEN: readonly Case<[query: string]>[] = [
  ['an inherited name as a field: constructor', 'q[constructor]="x"'],
  ['an inherited name as a field: toString', 'q[toString]="x"'],
  ['an inherited name as a field: hasOwnProperty', 'q[hasOwnProperty]="x"'],
  ['an inherited name as a field: valueOf', 'q[valueOf]="x"'],
  ['__proto__ as a field', 'q[__proto__]="x"'],
  ['__proto__ with a key below it', 'q[__proto__][admin]=true'],
  ['__proto__ as a parameter', '__proto__[admin]=true'],
  ['constructor.prototype as a parameter', 'constructor[prototype][x]=1'],
  ['an inherited name beside a good condition', 'q[title]="alpha"&q[title][toString]=2'],
  ['empty brackets behind a field', 'q[title][]="alpha"'],
  ['an index behind a field', 'q[title][0]="alpha"'],
  ['a huge index behind a field', 'q[title][1000000000]="alpha"'],
  ['a repeated ordering operator', 'q[score][$gt]=1&q[score][$gt]=20'],
  ['a repeated ordering operator, turned round', 'q[score][$gt]=20&q[score][$gt]=1'],
  ['a repeated $in', 'q[title][$in]=["alpha"]&q[title][$in]=["beta"]'],
  ['a repeated $in, of an array behind values', 'q[title][$in]=alpha&q[title][$in]=["beta"]'],
  ['a repeated $in, of an array before values', 'q[title][$in]=["beta"]&q[title][$in]=alpha'],
  ['a repeated $nin, of an empty array behind values', 'q[title][$nin]=alpha&q[title][$nin]=[]'],
  ['a repeated $in in a group', 'q[$or][0][title][$in]=[]&q[$or][0][title][$in]=alpha'],
  ['an index behind $in', 'q[title][$in][0]=alpha&q[title][$in][1]=beta'],
  ['empty brackets behind $in', 'q[title][$in][]=alpha'],
  ['a key of an object behind $in', 'q[title][$in][length]=1'],
  ['101 values of $in, one by one', repeat(101, (i) => `q[title][$in]=${i}`)],
  ['101 values of $in and $nin, one by one', repeat(51, (i) => `q[title][$in]=${i}&q[title][$nin]=${i}`)],
  ['a number of $in that is none', 'q[score][$in]=5&q[score][$in]=x'],
  ['a repeated $exists', 'q[title][$exists]=true&q[title][$exists]=false'],
  ['a filter behind a thousand parameters', `${repeat(1000, (i) => `x${i}=1`)}&q[title]="alpha"`],
  ['text behind the brackets', 'q[title]x="alpha"'],
  ['text between brackets', 'q[title]x[$ne]="alpha"'],
  ['brackets in brackets', 'q[a[b]]=1'],
  ['doubled brackets', 'q[[title]]="alpha"'],
  ['a bracket that is not closed', 'q[title="alpha"'],
  ['an operator below an operator', 'q[title][$eq][$ne]="x"'],
  ['deep nesting', 'q[title][a][b][c][d][e][f]=1'],
  ['q without a field', 'q="alpha"'],
  ['q with an empty field', 'q[]="alpha"'],
  ['Q for q', 'Q[title]="alpha"'],
  ['another API: filter', 'filter[title]="alpha"'],
  ['another API: where', 'where=1'],
  ['another API: lookup', 'lookup=x'],
  ['another API: populate', 'populate=*'],
  ['another API: fields', 'fields=secret'],
  ['another API: _q', '_q=alpha'],
  ['JSONP', 'callback=x'],
  ['a method override', '_method=DELETE'],
  ['a token in the query', 'access_token=abc'],
  ['limit twice', 'limit=1&limit=1000'],
  ['skip twice', 'skip=0&skip=1'],
  ['project twice', 'project=["title"]&project=["secret"]'],
  ['project twice, by name and in an array', 'project=title&project=["secret"]'],
  ['project with an unreadable name among others', 'project=title&project=secret'],
  ['project with an index', 'project[0]=title'],
  ['expand twice, by name and in an array', 'expand=author&expand=["author"]'],
  ['limit with brackets', 'limit[]=5'],
  ['limit with an operator', 'limit[$gt]=5'],
  ['skip with a key', 'skip[a]=1'],
  ['limit without a value', 'limit'],
  ['a sort with and without brackets', 'sort[title]=-1&sort=secret'],
  ['a sort key twice', 'sort[title]=1&sort[title]=-1'],
  ['a sort with empty brackets', 'sort[]=title'],
  ['a sort with an operator', 'sort[title][$eq]=1'],
  ['a key encoded twice', 'q%255Btitle%255D=%22alpha%22'],
  ['a broken percent sequence inside a value', 'q[title]=%22al%ph%22'],
  ['a percent sign alone', 'q[title]=%'],
  ['a percent sequence of other letters', 'q[title]=%zz'],
  ['a percent sequence of another language', 'q[title]=%u0061'],
  ['NUL behind a field', 'q[title%00]="alpha"'],
  ['NUL as a field', 'q[%00]="x"'],
  ['a line break inside a field', 'q[ti%0Atle]="x"'],
  ['NUL inside a value', 'q[title]=%22a%00%22'],
  ['NUL inside unquoted text', 'q[title]=a%00'],
  ['an unencoded ampersand inside a value', 'q[title]="x&y"'],
  ['bytes that are no UTF-8, with a charset sentinel', 'utf8=%26%2310003%3B&q[title]=%22%F8%22'],
  ['bytes that are no UTF-8', 'q[title]=%22%F8%22'],
  ['an encoded surrogate', 'q[title]=%22%ED%A0%80%22'],
  ['an escaped lone surrogate', 'q[title]="\\ud800"'],
  ['quoted values joined by a comma', 'q[title]="alpha","beta"'],
  ['numbers joined by a comma', 'q[score]=5,15'],
  ['conditions joined by a semicolon', 'q[title]="alpha";q[score]=5'],
  ['ampersands alone', '&&&'],
  ['a value without a name', '=x'],
  ['brackets without a name', '[]=x'],
  ['a second question mark', '?q[title]="alpha"'],
  ['65 parameters that are none', repeat(65, (i) => `p${i}=1`)],
  ['65 conditions', conditions(65)],
  ['101 values', repeat(101, (i) => `q[title]=${i}`)],
  ['101 values of one list', `q[score][$in]=[${repeat(101, String).replaceAll('&', ',')}]`],
]

describe.each([
  ['a list', '/posts', {}],
  ['a count', '/posts/count', {}],
  ['an empty collection', '/open', {}],
  ['a list of a signed-in caller', '/posts', { caller: AS_ANN }],
])('%s refuses, before it asks storage', (_what, path, options) => {
  test.each(MISSHAPEN)('%s', async (_name, query) => {
    const { body } = await service.refuse(`GET ${path}?${query}`, INVALID_QUERY, options)
    expect(body.errors.length).toBeGreaterThan(0)
  })

  test('a query of more bytes than allowed', async () => {
    await service.refuse(`GET ${path}?${'q[title]=a'.padEnd(8193, 'a')}`, TOO_LONG, options)
  })
})

const IDS: readonly Case<[query: string, ids: readonly string[]]>[] = [
  ['ORs 21 values of one field', `${repeat(20, (i) => `q[title]="t${i}"`)}&q[title]="alpha"`, [P1]],
  ['ORs 100 values of one field', `${repeat(99, (i) => `q[title]="t${i}"`)}&q[title]="alpha"`, [P1]],
  [
    'ANDs $ne to 21 values',
    `${repeat(21, (i) => `q[title]="t${i}"`)}&q[title]="alpha"&q[title][$ne]="alpha"`,
    [],
  ],
  ['holds both a value and its contrary', 'q[title]="alpha"&q[title][$ne]="alpha"', []],
  ['holds both in the other order', 'q[title][$ne]="alpha"&q[title]="alpha"', []],
  ['takes a plain value and $eq for the same', 'q[title]="x"&q[title][$eq]="alpha"', [P1]],
  ['decodes keys once', 'q%5Btitle%5D=%22alpha%22', [P1]],
  ['decodes every letter of a key', '%71[title]="alpha"', [P1]],
  ['keeps an encoded ampersand in a value', 'q[title]="x%26y"', []],
  ['keeps an encoded bracket and equals sign in a value', 'q[title]="]%3D"&limit=9', []],
  ['takes a plus for a space', 'q[title]="al+pha"', []],
  ['takes a question mark with nothing behind it for no query', '', [P1, P2, P3, P4]],
  ['takes values of $in one by one', 'q[title][$in]=x&q[title][$in]=alpha', [P1]],
  ['ORs 100 values of $in', `${repeat(99, (i) => `q[title][$in]=t${i}`)}&q[title][$in]="alpha"`, [P1]],
  ['takes a key like that of an object as a value of $in', 'q[title][$in]=__proto__', []],
  ['skips empty pairs, and nothing else', '&q[title]="alpha"&&q[score]=5&', [P1]],
  ['takes 64 conditions', conditions(64), []],
  ['takes a query of exactly as many bytes as allowed', 'q[title]=a'.padEnd(8192, 'a'), []],
]

test.each(IDS)('a list %s', async (_what, query, ids) => {
  expect(await service.list(`/posts?${query}`, '_id')).toEqual(ids)
  expect((await service.send(`GET /posts/count?${query.replace('&limit=9', '')}`)).body).toEqual({
    total: ids.length,
  })
})

/** Each route takes parameters of its own, whatever another route was asked the moment before. */
test.each<Case<[good: string, bad: string]>>([
  ['a document', 'GET /posts/count?q[title]="first"', `GET /posts/${P1}?q[title]="first"`],
  ['a count', `GET /posts/${P1}?project=["score"]`, 'GET /posts/count?project=["score"]'],
  ['a count, of a sort', 'GET /posts?sort[score]=-1', 'GET /posts/count?sort[score]=-1'],
  ['a count, of a page', 'GET /posts?limit=1&skip=1', 'GET /posts/count?limit=1&skip=1'],
  ['a document, of a page', 'GET /posts?limit=1', `GET /posts/${P1}?limit=1`],
  ['a registration', 'GET /posts?q[title]="x"', 'POST /auth/register?q[title]="x"'],
])('%s refuses a parameter that another route has just taken', async (_what, good, bad) => {
  expect((await service.send(good)).status).toBe(200)
  await service.refuse(bad, INVALID_QUERY)
})
