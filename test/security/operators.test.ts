import { beforeAll, describe, expect, test } from 'vitest'
import { type Attacked, attack, type Case, INVALID_QUERY, P1, P2, P3, P4 } from './fixture.js'

// CONTRACT.md §3.1, §3.3

let service: Attacked
beforeAll(async () => {
  service = await attack()
})

const operator = (name: string): Case<[query: string]> => [
  `the operator ${JSON.stringify(name)}`,
  `q[title][${name}]="x"`,
]

const REFUSED_EVERYWHERE: readonly Case<[query: string]>[] = [
  ...['toString', 'constructor', 'valueOf', '__proto__', 'hasOwnProperty', '0', '1', ''].map(operator),
  ...['eq', '$EQ', '$where', '$not', '$size', '$loki', '$eq ', '$regex$options'].map(operator),
  ['$options without $regex', 'q[title][$options]=i'],
  ...['g', 'y', 's', 'x', 'ii', 'I', '', 'gi', '"i"'].map(
    (option): Case<[string]> => [
      `$options=${option || 'nothing'}`,
      `q[title][$regex]=a&q[title][$options]=${option}`,
    ],
  ),
  ['$options twice', 'q[title][$regex]=a&q[title][$options]=i&q[title][$options]=i'],
  ['$options of another field', 'q[title][$regex]=a&q[body][$options]=i'],
  ['$where', 'q[$where]=1'],
  ['$and', 'q[$and]=[{"title":"alpha"}]'],
  ['a field of the engine: $loki', 'q[$loki]=1'],
  ['a field of the engine: meta', 'q[meta]=0'],
  ['a field of the engine: meta.revision', 'q[meta.revision]=0'],
  ['a field of the service: _version', 'q[_version]=1'],
  ['a field of the service: _hashes', 'q[_hashes]=1'],
  ['an object as a value', 'q[title]={"$ne":""}'],
  ['an object as the value of an operator', 'q[title][$eq]={"$gt":""}'],
  ['an object as the value of $ne', 'q[title][$ne]={}'],
  ['an array as a value', 'q[title]=["alpha","beta"]'],
  ['an array as the value of $gt', 'q[title][$gt]=[]'],
  ['an array for an array', 'q[tags]=["x"]'],
  ['half a string', 'q[title]="alpha'],
  ['a string with something behind it', 'q[title]="alpha" '],
  ['$in with text that is not closed', 'q[title][$in]="alpha'],
  ['$in with an object', 'q[title][$in]={"0":"alpha"}'],
  ['$in with an array inside', 'q[title][$in]=[["alpha"]]'],
  ['$in with an object inside', 'q[title][$in]=[{"$ne":""}]'],
  ['$in with a number for a string', 'q[title][$in]=[1]'],
  ['$nin with unquoted text', 'q[title][$nin]=[alpha]'],
  ['$exists with a number', 'q[title][$exists]=1'],
  ['$exists with null', 'q[title][$exists]=null'],
  ['$exists with a string', 'q[title][$exists]="true"'],
  ...['[', '(', '*', '\\', 'a{2,1}', '(?:', 'a**', ')', '[b-a]', '%2B', 'a{,'].map(
    (pattern): Case<[string]> => [`the pattern ${pattern}`, `q[title][$regex]=${pattern}`],
  ),
  ['$regex with a number in JSON', 'q[title][$regex]="'],
  ['$regex on a number', 'q[score][$regex]=5'],
  ['$regex on the time of creation as a number', 'q[createdAt][$regex]=['],
  ['text for a number', 'q[score]="5"'],
  ['a word for a number', 'q[score]=alpha'],
  ['a boolean for a number', 'q[score]=true'],
  ['a boolean below a number', 'q[score][$lt]=true'],
  ['null at an end of a range of numbers', 'q[score][$gte]=null'],
  ['null at an end of a range of texts', 'q[title][$gte]=null'],
  ['an empty number', 'q[score]='],
  ...[
    '0x10',
    '010',
    '1_000',
    '+5',
    '%2B5',
    '%D9%A5',
    ' 5',
    '5%20',
    '5.',
    '.5',
    '-',
    '1e',
    'NaN',
    'Infinity',
    '-Infinity',
    '1e400',
    '-1e400',
    '9007199254740993',
    '-9007199254740993',
    '5n',
    '%EF%BC%95',
  ].map((number): Case<[string]> => [`the number ${number}`, `q[score]=${number}`]),
  ...[
    'title.length',
    'tags.0',
    'a.b',
    '.',
    'title.',
    '.title',
    'title..x',
    'tags.length',
    '_id.x',
    'createdAt.x',
  ].map((path): Case<[string]> => [`the path ${path}`, `q[${path}]="x"`]),
  ...['abc', '2', '1e0', '-1.0', '', 'true', '1%20', '01', '+1', 'ASC', 'ascending', '{"title":1}'].map(
    (direction): Case<[string]> => [`the direction ${JSON.stringify(direction)}`, `sort[title]=${direction}`],
  ),
  ...[
    'constructor',
    '__proto__',
    'toString',
    'nosuch',
    '$loki',
    'title.x',
    "title'--",
    '_version',
    'tags',
  ].map((path): Case<[string]> => [`a sort by ${path}`, `sort[${path}]=1`]),
  ...[
    '-1',
    '1.5',
    '1e3',
    '0x10',
    ' 5',
    '',
    '5abc',
    '%EF%BC%95',
    '99999999999999999999',
    'null',
    '9007199254740992',
    '05',
    '"5"',
    '-0',
  ].flatMap((number): Case<[string]>[] => [
    [`limit=${number}`, `limit=${number}`],
    [`skip=${number}`, `skip=${number}`],
  ]),
  ['a skip beyond 64 bits', 'skip=9223372036854775808'],
  ['an object as a projection', 'project={"title":"$secret"}'],
  ...[
    '$secret',
    'secret as title',
    '*',
    'secret',
    '__proto__',
    'constructor',
    'title" from x',
    'password',
    '_version',
    '',
  ].map(
    (name): Case<[string]> => [
      `a projection of ${JSON.stringify(name)}`,
      `project=${JSON.stringify(['title', name])}`,
    ],
  ),
  ['a projection of inherited names alone', 'project=["__proto__","constructor"]'],
  ['a projection of numbers', 'project=[0]'],
  ['a projection of arrays', 'project=[["title"]]'],
  ['a projection as a list of words', 'project=title,score'],
  ['a projection of null', 'project=null'],
  ['an empty projection', 'project='],
  ['a field with SQL in it', "q[a'b]=1"],
  ...[
    '"2020-13-45"',
    '"+275760-09-13T00:00:00.001Z"',
    '"now"',
    '0',
    '"2026-02-30"',
    '"2026-01-01T24:00:00Z"',
    '"2026-06-30T23:59:60Z"',
    '"0000-01-01"',
    '"2026-01-01T00:00:00"',
    '20260101',
    'true',
  ].map((time): Case<[string]> => [`the time ${time}`, `q[createdAt][$gt]=${time}`]),
]

describe.each([
  ['with documents', '/posts'],
  ['without documents', '/open'],
  ['counted', '/posts/count'],
])('a collection %s refuses', (_what, path) => {
  test.each(REFUSED_EVERYWHERE)('%s', async (_name, query) => {
    const own = path === '/open' ? query.replaceAll('title', 'name').replaceAll('score', 'n') : query
    await service.refuse(`GET ${path}?${own}`, INVALID_QUERY)
  })
})

test.each<Case<[query: string, ids: readonly string[]]>>([
  ['both ends of a range', 'q[score][$gte]=10&q[score][$lt]=20', [P2]],
  ['both ends, the upper first', 'q[score][$lt]=20&q[score][$gte]=10', [P2]],
  ['a half-open range', 'q[score][$gt]=5&q[score][$lte]=25', [P2, P3]],
  ['$ne within a range', 'q[score][$ne]=15&q[score][$gt]=5', [P3, P4]],
  ['a range before $ne', 'q[score][$gt]=5&q[score][$ne]=15', [P3, P4]],
  ['all four ends', 'q[score][$gt]=5&q[score][$gte]=15&q[score][$lt]=35&q[score][$lte]=25', [P2, P3]],
  ['a number', 'q[score]=5', [P1]],
  ['a number in another notation of JSON', 'q[score]=0.5e1', [P1]],
  ['unquoted text', 'q[title]=alpha', [P1]],
  ['a number for text, as text', 'q[title]=5', []],
  ['a boolean below text, as text', 'q[title][$lt]=true', [P1, P2, P3]],
  ['the empty text, below all others but not below nothing', 'q[title][$gt]=""', [P1, P2, P3]],
  ['null for a missing field', 'q[title]=null', [P4]],
  ['the word null', 'q[title]="null"', []],
  ['$ne, which a missing field satisfies', 'q[title][$ne]="alpha"', [P2, P3, P4]],
  ['$nin, which a missing field satisfies', 'q[title][$nin]=["alpha","beta"]', [P3, P4]],
  ['$in with null', 'q[title][$in]=["alpha",null]', [P1, P4]],
  ['an empty $in', 'q[title][$in]=[]', []],
  ['an empty $nin', 'q[title][$nin]=[]', [P1, P2, P3, P4]],
  ['a pattern that a missing field would match as text: undef', 'q[title][$regex]=undef', []],
  ['a pattern that a missing field would match as text: null', 'q[title][$regex]=null', []],
  ['a pattern that an object would match as text', 'q[title][$regex]=object', []],
  ['the empty pattern, which needs a text', 'q[title][$regex]=', [P1, P2, P3]],
  ['text with SQL in it', `q[title]="'; drop table posts;--"`, []],
  ['text with an operator in it', 'q[title]="$ne"', []],
  ['a limit of zero', 'limit=0', []],
  ['the greatest skip', 'skip=9007199254740991', []],
  ['the greatest limit', 'limit=9007199254740991&skip=3', [P4]],
  ['a million skipped', 'skip=1000000', []],
  ['an exact id', `q[_id]="${P2}"`, [P2]],
  ['an id that is none', 'q[_id]="1"', []],
])('a list takes %s', async (_what, query, ids) => {
  expect(await service.list(`/posts?${query}`, '_id')).toEqual(ids)
})

test('a case-insensitive pattern answers the same each time', async () => {
  for (let i = 0; i < 3; i++) {
    expect(await service.list('/posts?q[title][$regex]=ALPHA&q[title][$options]=i', '_id')).toEqual([P1])
    expect(await service.list('/posts?q[title][$regex]=ALPHA', '_id')).toEqual([])
  }
})

test.each<Case<[query: string, documents: readonly object[]]>>([
  ['nothing but _id for an empty list', 'project=[]&limit=1', [{ _id: P1 }]],
  ['output only, never what is compared', 'project=["title"]&q[score]=5', [{ _id: P1, title: 'alpha' }]],
  ['a name twice as once', 'project=["score","score"]&q[score]=5', [{ _id: P1, score: 5 }]],
])('a projection narrows %s', async (_what, query, documents) => {
  expect((await service.send(`GET /posts?${query}`)).body).toEqual(documents)
})

test.each(['limit=1', 'skip=1', 'sort[title]=1', 'project=["title"]', 'limit=1&skip=1&sort[title]=1'])(
  'a count takes no %s',
  async (query) => {
    await service.refuse(`GET /posts/count?${query}`, INVALID_QUERY)
  },
)

describe('values of several forms', () => {
  let texts: Attacked
  const NAMES = ['\uffff', '😀', 'a', 'B', 'é', '10', '9', '1e3', '1000', '0x3E8', '', 'true', 'null']
  beforeAll(async () => {
    texts = await attack(undefined, {
      documents: {
        open: [...NAMES.map((name) => ({ name })), { n: 0 }, { n: -0.5 }, { n: 9007199254740991 }],
      },
    })
    expect((await texts.send('POST /open', { raw: '{"name":"negative zero","n":-0}' })).text).toContain(
      '"n":0,',
    )
  })

  test.each<Case<[query: string, names: readonly string[]]>>([
    [
      'by code point, whatever the locale',
      'q[name][$exists]=true&sort[name]=1',
      ['', '0x3E8', '10', '1000', '1e3', '9', 'B', 'a', 'negative zero', 'null', 'true', 'é', '\uffff', '😀'],
    ],
    ['texts of digits as text', 'q[name][$gt]="9"&q[name][$lt]="B"', []],
    ['unquoted digits as text', 'q[name][$gt]=9&q[name][$lt]=B', []],
    ['digits before letters', 'q[name][$gte]="10"&q[name][$lte]="9"', ['10', '9', '1e3', '1000']],
    ['exact texts, not numbers of the same value', 'q[name][$gte]="1000"&q[name][$lte]="1000"', ['1000']],
    ['the word true', 'q[name]=true', ['true']],
    ['the word null only in quotes', 'q[name]="null"', ['null']],
    ['a letter beyond U+FFFF above U+FFFF', 'q[name][$gt]="\uffff"', ['😀']],
    ['the same letter in one form only', 'q[name]="e\u0301"', []],
  ])('compares %s', async (_what, query, names) => {
    expect(await texts.list(`/open?${query}`, 'name')).toEqual(names)
  })

  test.each<Case<[query: string, numbers: readonly number[]]>>([
    ['minus zero and zero as one', 'q[n]=-0', [0, 0]],
    ['the greatest whole number', 'q[n]=9007199254740991', [9007199254740991]],
    ['a fraction below zero', 'q[n][$lt]=0', [-0.5]],
  ])('compares %s', async (_what, query, numbers) => {
    expect(await texts.list(`/open?${query}`, 'n')).toEqual(numbers)
  })
})
