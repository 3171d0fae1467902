import { describe, expect, test } from 'vitest'
import { writeQuery } from '../../src/client/write-query.js'
import type { ConfigFault } from '../../src/core/errors.js'
import { collectPaths, compileFields, SYSTEM_FIELD_PLANS } from '../../src/core/fields/compile-fields.js'
import type { Field } from '../../src/core/fields/field-type.js'
import { and, type Filter, or } from '../../src/core/filter/filter.js'
import { parsePattern } from '../../src/core/filter/pattern/parse-pattern.js'
import { reportTo } from '../../src/core/json/report.js'
import { targetOf } from '../../src/core/query/compile-expand.js'
import { compileQuery } from '../../src/core/query/compile-query.js'
import { buildCondition } from '../../src/core/query/condition.js'
import { parseQueryString } from '../../src/core/query/query-string.js'
import type { Readable } from '../../src/core/query/reading.js'
import { parseWhere } from '../../src/core/query/where.js'
import type { OperatorName } from '../../src/core/types.js'
import fc from '../support/fast-check.js'

// CONTRACT.md §3.3, §3.6 to §3.8

const FIELDS = collectPaths([
  ...SYSTEM_FIELD_PLANS,
  ...compileFields({
    title: { type: 'string' },
    size: { type: 'number' },
    views: { type: 'integer' },
    isOpen: { type: 'boolean' },
    seen: { type: 'timestamp' },
    tags: { type: 'array', items: { type: 'string' } },
    marks: { type: 'array', items: { type: 'number' } },
    address: { type: 'object', properties: { city: { type: 'string' }, at: { type: 'timestamp' } } },
    more: { type: 'json' },
    author: { type: 'reference', collection: 'users' },
    toString: { type: 'string' as const },
  }),
])
const PATHS = new Map(FIELDS.map((field) => [field.path, field]))

const readable: Readable = {
  find: (path) => PATHS.get(path),
  isShownAlways: () => true,
  guard: (leaf) => leaf,
  parsePattern,
  paths: () => [...PATHS.keys()],
}

/** What the service understands of the options of a list. */
function understand(options: object) {
  const raw = parseQueryString(
    writeQuery(options),
    ['q', 'sort', 'skip', 'after', 'limit', 'total', 'project', 'expand'],
    { queryBytes: 1_000_000 },
  )
  const limits = { conditions: 10_000, values: 10_000, patterns: 10_000, defaultLimit: null, maxLimit: null }
  return compileQuery(raw, { readable, following: { targetOf, readable: () => null } }, limits, true)
}

type Json = { readonly [name: string]: unknown }

/** JSON as it would stand in a configuration. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

function readWhere(where: Json): Filter {
  const faults: ConfigFault[] = []
  const filter = parseWhere(
    where,
    { paths: PATHS, judgeVariable: () => undefined, parsePattern, claims: new Map(), isUnsure: () => false },
    reportTo(faults),
  )
  expect(faults).toEqual([])
  if (filter.kind !== 'fixed') throw new Error('a variable in a filter of the client')
  return filter.filter
}

/** The same without the words of configurations, in which a dollar begins a variable. */
function build({ $or, ...conditions }: Json): Filter {
  const parts = Object.entries(conditions).flatMap(([path, condition]) => {
    const field = PATHS.get(path) as Field
    const isScalar = typeof condition !== 'object' || condition === null
    const { $options, ...operators } = isScalar ? { $eq: condition } : (condition as Json)
    return Object.entries(operators).map(([operator, operand]) =>
      buildCondition(field, operator as OperatorName, operand, { ignoreCase: $options === 'i' }),
    )
  })
  return and(Array.isArray($or) ? [...parts, or($or.map(build))] : parts)
}

const text = fc.oneof(
  fc.string({ unit: 'binary' }).filter((one) => !one.includes('\0')),
  fc.constantFrom(
    '',
    ' ',
    '+',
    '%',
    '%41',
    '&',
    '=',
    '&q[a]=1',
    '"',
    '\\',
    '[]',
    'null',
    'true',
    '01',
    '5',
    'ä𝄞',
  ),
)
const number = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((one) => !Number.isInteger(one)),
  fc.constantFrom(0, -0, 1e20 / 1e10, 5e-324, -1.5e-7),
)
const time = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
const PATTERN_PARTS = ['a', '&', 'b+', '\\+', '.', ' ', '%', 'ß', '[x-z]', '(b|c)', '\\d', '^', '$', '"', '=']
const pattern = fc.array(fc.constantFrom(...PATTERN_PARTS), { minLength: 1 }).map((parts) => parts.join(''))

const VALUES: { readonly [type: string]: fc.Arbitrary<unknown> } = {
  string: text,
  reference: text,
  number,
  integer: fc.integer(),
  boolean: fc.boolean(),
  timestamp: fc.oneof(
    time,
    time.map((date) => date.toISOString()),
  ),
}

/** Made once: most of the work would be that. */
const CONDITIONS = new Map(FIELDS.map((field) => [field, conditionOn(field)]))

function conditionOn(field: Field): fc.Arbitrary<unknown> {
  const { type } = field.items ?? field
  const value = VALUES[type]
  const $exists = fc.boolean()
  if (!value) return fc.record({ $exists })
  const orNull = fc.option(value, { freq: 6 })
  const list = fc.array(orNull, { maxLength: 4 })
  const any = { $eq: orNull, $ne: orNull, $in: list, $nin: list, $exists }
  const ordered = type === 'boolean' ? {} : { $gt: value, $gte: value, $lt: value, $lte: value }
  const operators = fc
    .record({ ...any, ...ordered }, { requiredKeys: [] })
    .filter((one) => Object.keys(one).length > 0)
  const isText = ['string', 'reference', 'timestamp'].includes(type)
  const match = fc.oneof(
    fc.record({ $regex: pattern }),
    fc.record({ $regex: pattern, $options: fc.constant('i') }),
    fc.record({ $gt: value, $regex: pattern }),
  )
  return fc.oneof(orNull, operators, ...(isText ? [match] : []))
}

const conditions = (least: number): fc.Arbitrary<Json> =>
  fc
    .uniqueArray(fc.constantFrom(...FIELDS), { minLength: least, maxLength: 3 })
    .chain((fields) =>
      fc
        .tuple(...fields.map((field) => CONDITIONS.get(field) ?? conditionOn(field)))
        .map((all) => Object.fromEntries(fields.map(({ path }, i) => [path, all[i]]))),
    )

const filterOf = (levels: number, least = 0): fc.Arbitrary<Json> => {
  const own = conditions(least)
  if (levels === 0) return own
  const groups = fc.array(filterOf(levels - 1, 1), { minLength: 1, maxLength: 3 })
  return fc.oneof(
    own,
    fc.tuple(conditions(0), groups).map(([first, $or]): Json => ({ ...first, $or })),
  )
}

const FILTER = filterOf(4)
const beginsVariable = (filter: Json): boolean => /"\$(?:user|now)/.test(JSON.stringify(filter))

describe('any filter', () => {
  test('means to the service what it would mean in a configuration', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(FILTER, (q) => {
        fc.pre(!beginsVariable(q))
        expect(understand({ q }).filter).toEqual(readWhere(plain(q) as Json))
      }),
      { numRuns: 2000 },
    )
  })

  test('means what its conditions mean', () => {
    fc.assert(
      fc.property(FILTER, (q) => {
        expect(understand({ q }).filter).toEqual(build(plain(q) as Json))
      }),
      { numRuns: 1000 },
    )
  })
})

test('any order, page and part arrive as they were meant', () => {
  const scalars = FIELDS.filter(({ type }) => VALUES[type] !== undefined).map(({ path }) => path)
  const paths = FIELDS.map(({ path }) => path)
  const options = fc.record(
    {
      sort: fc
        .uniqueArray(fc.tuple(fc.constantFrom(...scalars), fc.constantFrom(1, -1, 'asc', 'desc')), {
          selector: ([path]) => path,
        })
        .map((keys) => Object.fromEntries(keys)),
      skip: fc.maxSafeNat(),
      limit: fc.maxSafeNat(),
      project: fc.array(fc.constantFrom(...paths)),
      expand: fc.constantFrom(['author'], []),
      signal: fc.constant(new AbortController().signal),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(options, (one) => {
      const query = understand(one)
      const keys = Object.entries(one.sort ?? {}).map(([path, way]) => [path, way === -1 || way === 'desc'])
      const end = keys.findIndex(([path]) => path === '_id')
      const expected = end < 0 ? [...keys, ['_id', keys.at(-1)?.[1] ?? false]] : keys.slice(0, end + 1)
      expect(query.sort.map(({ field, descending }) => [field.path, descending])).toEqual(expected)
      expect([query.skip, query.limit]).toEqual([one.skip ?? 0, one.limit ?? null])
      expect(query.projection === null).toBe(one.project === undefined)
      const heads = new Set(one.project?.map((path) => path.split('.')[0]))
      expect(new Set(query.projection?.keys())).toEqual(heads)
      expect(query.expand.map(({ path }) => path)).toEqual(one.expand ?? [])
    }),
  )
})

test.each<[object, string]>([
  [{}, ''],
  [{ q: {}, sort: {}, skip: undefined }, ''],
  [{ skip: 0, limit: 10 }, 'skip=0&limit=10'],
  [{ sort: { b: -1, a: 'asc' } }, 'sort[b]=-1&sort[a]=asc'],
  [{ q: { title: 'a "b"' } }, 'q[title]="a \\"b\\""'],
  [{ q: { views: 1e21, isOpen: false, title: null } }, 'q[views]=1e+21&q[isOpen]=false&q[title]=null'],
  [{ q: { title: { $regex: '^a"', $options: 'i' } } }, 'q[title][$regex]="^a\\""&q[title][$options]=i'],
  [{ q: { tags: { $in: ['a', null, 1, true] } } }, 'q[tags][$in]=["a",null,1,true]'],
  [{ q: { tags: { $exists: true } } }, 'q[tags][$exists]=true'],
  [{ q: { seen: { $gt: new Date(0) } } }, 'q[seen][$gt]="1970-01-01T00:00:00.000Z"'],
  [
    { q: { a: 1, $or: [{ b: 2, c: { $gt: 3 } }, { $or: [{ d: 4 }] }] } },
    'q[a]=1&q[$or][0][b]=2&q[$or][0][c][$gt]=3&q[$or][1][$or][0][d]=4',
  ],
  [{ project: ['a', 'b.c'], expand: [] }, 'project=["a","b.c"]&expand=[]'],
  // What nobody knows is the service's to refuse.
  [{ limt: 5 }, 'limt=5'],
])('%j is written as %s', (options, expected) => {
  const written = writeQuery(options)
  expect(written).toMatch(/^[\w.!~*'()%&=-]*$/)
  expect(decodeURIComponent(written)).toBe(expected)
})

test.each<[string, object]>([
  ['undefined as a value', { a: undefined }],
  ['undefined beside others', { b: 1, a: undefined }],
  ['undefined as an operand', { a: { $eq: undefined } }],
  ['undefined as options', { a: { $regex: 'x', $options: undefined } }],
  ['undefined in a list', { a: { $in: [1, undefined] } }],
  // biome-ignore lint/suspicious/noSparseArray: the hole is what this is about
  ['a hole in a list', { a: { $in: [1, , 2] } }],
  ['undefined in a group', { $or: [{ a: 1 }, { b: undefined }] }],
  ['undefined as groups', { $or: undefined }],
  ['undefined as a group', { $or: [undefined] }],
  ['no groups', { $or: [] }],
  ['groups that are none', { $or: { 0: { a: 1 } } }],
  ['an empty group', { $or: [{ a: 1 }, {}] }],
  ['a field without operators', { a: {} }],
  ['a pattern of the language', { a: /x/ }],
  ['a map', { a: new Map([['$gt', 1]]) }],
  ['NaN', { a: Number.NaN }],
  ['infinity', { a: { $lt: Number.POSITIVE_INFINITY } }],
  ['a bigint', { a: 1n }],
  ['a function', { a: () => 1 }],
  ['a symbol', { a: Symbol('x') }],
  ['an operator inside an operator', { a: { $not: { $eq: 1 } } }],
  ['an operator in a name', { 'a][$ne': 1 }],
  ['a filter that is a list', [{ a: 1 }]],
])('a filter with %s is refused', (_, q) => {
  expect(() => writeQuery({ q })).toThrow(TypeError)
})

test.each<[string, object]>([
  ['a list as options', []],
  ['a map as options', new Map([['limit', 1]])],
  ['options that are inherited', Object.create({ q: { a: 1 } })],
  ['a filter in a name', { 'q[a]': 1 }],
  ['text as a filter', { q: 'a=1' }],
  ['null as a filter', { q: null }],
  ['a date that is none', { q: { a: new Date(Number.NaN) } }],
  ['an order that is a list', { sort: ['a'] }],
  ['a direction that is a bigint', { sort: { a: -1n } }],
  ['a direction that is undefined', { sort: { a: undefined } }],
  ['a direction that is a symbol', { sort: { a: Symbol('desc') } }],
  ['a limit that is no number', { limit: Number.NaN }],
  ['a name that is missing', { project: ['a', undefined] }],
])('%s is refused', (_, options) => {
  expect(() => writeQuery(options)).toThrow()
})

test('a place is sent as an answer gave it', () => {
  expect(writeQuery({ after: 'abc_-', limit: 2 })).toBe('after=abc_-&limit=2')
  expect(writeQuery({ skip: '40', after: undefined })).toBe('skip=40')
})
