import { describe, expect, test } from 'vitest'
import { describeApi } from '../../src/tools/openapi/describe-api.js'
import { createJudge } from '../support/json-schema.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §8, "OpenAPI", and §3.1: a value that the description of a list takes means itself, any other is in JSON

type Value = string | number | boolean

const CHOICES = ['null', '["x', '"', '{', 'plain', 'true', '12', ' null']

/** For each field, values that mean themselves without quotes, and values that do not. */
const VALUES: { readonly [field: string]: readonly [plain: readonly Value[], others: readonly Value[]] } = {
  text: [
    [
      ...[
        'Null',
        ' null',
        'null ',
        'nulls',
        'true',
        '1',
        '01',
        '-0',
        '1e3',
        '',
        ' ',
        '\t',
        '+',
        '%',
        '%5B',
        '&',
      ],
      ...['=', ',', 'a,b', ' "', ' []', '\n{', "'", '\\', '😀', 'a"b', 'a[b', 'a{b', 'undefined', '$now'],
    ],
    ['null', '"', '"a"', '""', '[', '[]', '["Null"]', '{', '{}', '[null]', '"\n"'],
  ],
  choice: [CHOICES.slice(4), CHOICES.slice(0, 4)],
  odd: [[], ['null', '["x']],
  number: [[0, -1.5, 1e-7, 5e-324, 2 ** 53 - 1, 0.1], []],
  whole: [[0, -3, 2 ** 53 - 1, 1 - 2 ** 53], []],
  level: [[1, 2], []],
  flag: [[true, false], []],
  at: [['2026-11-20T08:00:00.000Z', '2026-11-21', '2026-11-22T08:00:00+05:30'], []],
  tags: [
    ['a', ' ['],
    ['null', '[a'],
  ],
  days: [['2026-11-20'], []],
  createdBy: [
    ['ann', 'auth0|7'],
    ['null', '"ann"', '[ann]'],
  ],
}

const every = Object.entries(VALUES).flatMap(([field, [plain, others]]) => [
  ...plain.map((value) => [field, value, true] as const),
  ...others.map((value) => [field, value, false] as const),
])

const LISTS = ['tags', 'days']

const config = {
  collections: {
    things: {
      schema: {
        name: { type: 'integer' },
        text: { type: 'string' },
        choice: { type: 'string', enum: CHOICES },
        odd: { type: 'string', enum: ['null', '["x'] },
        number: { type: 'number', nullable: true },
        whole: { type: 'integer' },
        level: { type: 'integer', enum: [1, 2] },
        flag: { type: 'boolean' },
        at: { type: 'timestamp' },
        tags: { type: 'array', items: { type: 'string' } },
        days: { type: 'array', items: { type: 'timestamp' } },
      },
      permissions: { '*': true },
    },
  },
} as const

const { list } = createTestService(config, {
  documents: {
    things: every.map(([field, value], name) => ({ name, [field]: LISTS.includes(field) ? [value] : value })),
  },
})

type Parameter = {
  readonly schema?: { readonly items: { readonly [keyword: string]: unknown } }
  readonly content?: object
}

const parameters = describeApi(config).components.parameters as { readonly [name: string]: Parameter }
const judge = createJudge(() => ({}))

const ask = (field: string, operator: string, texts: readonly string[]): Promise<unknown[]> =>
  list(
    `/things?${texts.map((text) => `q[${field}][${operator}]=${encodeURIComponent(text)}`).join('&')}`,
    'name',
  )

describe.each(['$in', '$nin'])('%s', (operator) => {
  test.each(every)('%s %j is plain: %s', async (field, value, isPlain) => {
    const { schema } =
      parameters[`${field === 'createdBy' ? 'service' : 'things'}.q.${field}.${operator.slice(1)}`] ?? {}
    expect(schema !== undefined && judge(schema.items, value) === undefined).toBe(isPlain)
    const found = await ask(field, operator, [JSON.stringify([value])])
    const place = every.findIndex((one) => one[0] === field && one[1] === value)
    expect(found.includes(place)).toBe(operator === '$in')
    const plain = await ask(field, operator, [String(value)]).catch(() => undefined)
    if (isPlain) expect(plain).toEqual(found)
    else expect(plain).not.toEqual(found)
  })

  test.each(Object.entries(VALUES))('all that are plain of %s together', async (field, [plain]) => {
    if (plain.length === 0) return
    expect(await ask(field, operator, plain.map(String))).toEqual(
      await ask(field, operator, [JSON.stringify(plain)]),
    )
  })
})

test('a list of which no value is plain is JSON', () => {
  expect(parameters['things.q.odd.in']).toMatchObject({
    content: {
      'application/json': {
        schema: { type: 'array', items: { anyOf: [{ enum: ['null', '["x'] }, { type: 'null' }] } },
      },
    },
  })
})
