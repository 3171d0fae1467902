import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FieldDefinition, JsonObject } from '../../../../../src/core/types.js'
import { createCollectionService, createMemoryAdapter } from '../../../../../src/index.js'
import { importDatabase } from '../../../../../src/tools/cli/commands/import/import-database.js'
import { readDatabase } from '../../../../../src/tools/cli/commands/import/read-database.js'
import { FileError } from '../../../../../src/tools/cli/read-json-file.js'

// CONTRACT.md §8, "Import"

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'collection-service-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function readText(name: string, text: string) {
  await writeFile(join(folder, name), text)
  return readDatabase(join(folder, name))
}

/** Imports a file, serves it, and gives the schema and what a query lists of the one collection. */
async function serve(name: string, text: string, query: string) {
  const { config, documents, collections } = importDatabase(await readText(name, text))
  expect(collections).toHaveLength(1)
  const collection = collections[0]?.name ?? ''
  const handler = createCollectionService(config, createMemoryAdapter({ documents }), {
    production: false,
    logger: { info() {}, warn() {}, error() {} },
  })
  const response = await handler(new Request(`http://a/${collection}?${query}`))
  const listed: JsonObject[] = await response.json()
  await handler.close()
  return { collection, schema: collections[0]?.schema, listed }
}

const lines = (...documents: readonly unknown[]): string =>
  documents.map((one) => `${JSON.stringify(one)}\n`).join('')

/** A dictionary like those of packages: `extensions` occur in half of the members, `charset` in few. */
const TYPES = Object.fromEntries(
  Array.from({ length: 21 }, (_, i) => [
    `text/x-${i}`,
    {
      source: 'iana',
      ...(i % 2 === 0 ? { extensions: [`x${i}`] } : {}),
      ...(i < 3 ? { charset: 'UTF-8' } : {}),
    },
  ]),
)

const OID = '507f1f77bcf86cd799439011'

/** Two documents as `mongoexport` writes them in its canonical form. */
const MONGO = [
  {
    _id: { $oid: OID },
    name: 'Ann',
    views: { $numberInt: '3' },
    followers: { $numberLong: '12' },
    balance: { $numberLong: '9007199254740993' },
    price: { $numberDecimal: '19.90' },
    score: { $numberDouble: '0.5' },
    born: { $date: { $numberLong: '86400000' } },
    seen: [{ $date: '2024-01-01T00:00:00Z' }],
  },
  { _id: { $oid: OID.replace('5', '6') }, name: 'Bob', balance: { $numberInt: '7' } },
]

interface Case {
  readonly name: string
  readonly text: string
  readonly schema: { readonly [field: string]: FieldDefinition }
  readonly query: string
  readonly listed: readonly JsonObject[]
}

const CASES: { readonly [title: string]: Case } = {
  'a list at the top is one collection, named as the file': {
    name: 'blog posts.json',
    text: JSON.stringify([{ id: 1, title: 'One', price: 3 }, { id: 2 }]),
    schema: { id: { type: 'integer', unique: true }, title: { type: 'string' }, price: { type: 'number' } },
    query: 'q[price][$gt]=2.5',
    listed: [{ id: 1, title: 'One', price: 3 }],
  },
  'lines of objects are one collection': {
    name: 'events.json',
    text: `${lines({ id: 'a', at: 1 })}\r\n${lines({ id: 'b' })}`,
    schema: { id: { type: 'string', unique: true }, at: { type: 'number' } },
    query: 'q[id]=b',
    listed: [{ id: 'b' }],
  },
  'one line is lines, where the name of the file says so': {
    name: 'events.ndjson',
    text: lines({ id: 1 }),
    schema: { id: { type: 'integer', unique: true } },
    query: 'q[id]=1',
    listed: [{ id: 1 }],
  },
  'a dictionary is one collection with its keys as a field': {
    name: 'types.json',
    text: JSON.stringify(TYPES),
    schema: {
      key: { type: 'string', unique: true },
      source: { type: 'string' },
      extensions: { type: 'array', items: { type: 'string' } },
      charset: { type: 'string' },
    },
    query: 'q[key]=text/x-2',
    listed: [{ key: 'text/x-2', source: 'iana', extensions: ['x2'], charset: 'UTF-8' }],
  },
  "a dictionary's keys have a name that no member has": {
    name: 'types.json',
    text: JSON.stringify(
      Object.fromEntries(Object.keys(TYPES).map((type, i) => [type, { Key: i, id: i, name: 'n' }])),
    ),
    schema: {
      key_2: { type: 'string', unique: true },
      Key: { type: 'number' },
      id: { type: 'integer' },
      name: { type: 'string' },
    },
    query: 'q[key_2]=text/x-2',
    listed: [{ key_2: 'text/x-2', Key: 2, id: 2, name: 'n' }],
  },
  'an integer beyond 2^53 makes its field text, for all values': {
    name: 'tweets.json',
    text: '[{"id":1,"by":{"userId":2}},{"id":12345678901234567890,"by":{"userId":-9007199254740993}}]',
    schema: {
      id: { type: 'string', unique: true },
      by: { type: 'object', properties: { userId: { type: 'string' } } },
    },
    query: 'q[by.userId]=-9007199254740993',
    listed: [{ id: '12345678901234567890', by: { userId: '-9007199254740993' } }],
  },
  "lines of MongoDB's Extended JSON": {
    name: 'people.json',
    text: lines(...MONGO),
    schema: {
      id: { type: 'string', unique: true },
      name: { type: 'string' },
      views: { type: 'number' },
      followers: { type: 'number' },
      balance: { type: 'string' },
      price: { type: 'number' },
      score: { type: 'number' },
      born: { type: 'timestamp' },
      seen: { type: 'array', items: { type: 'timestamp' } },
    },
    query: `q[id]=${OID}`,
    listed: [
      {
        id: OID,
        name: 'Ann',
        views: 3,
        followers: 12,
        balance: '9007199254740993',
        price: 19.9,
        score: 0.5,
        born: '1970-01-02T00:00:00.000Z',
        seen: ['2024-01-01T00:00:00.000Z'],
      },
    ],
  },
}

test.each(Object.entries(CASES))('%s', async (_, { name, text, schema, query, listed }) => {
  const served = await serve(name, text, query)
  expect(served.schema).toEqual(schema)
  expect(served.listed.map(({ _id, createdAt, updatedAt, createdBy, ...fields }) => fields)).toEqual(listed)
})

describe('an object of objects is as json-server takes it', () => {
  test.each<[reason: string, members: readonly JsonObject[]]>([
    ['20 members', Object.values(TYPES).slice(1)],
    ['members without fields', Array.from({ length: 21 }, () => ({}))],
    ['no field that half of the members have', Array.from({ length: 21 }, (_, i) => ({ [`f${i % 3}`]: 1 }))],
    [
      'less than half of the properties in common fields',
      Array.from({ length: 21 }, (_, i) => ({ name: 'n', [`a${i}`]: 1, [`b${i}`]: 1 })),
    ],
    ['a list among the members', [...Object.values(TYPES), [] as never]],
  ])('with %s', async (_, members) => {
    const text = JSON.stringify(Object.fromEntries(members.map((member, i) => [`m${i}`, member])))
    expect((await readText('db.json', text)).isJsonServer).toBe(true)
  })
})

test.each<[fault: string, name: string, text: string, message: RegExp]>([
  ['a line that is not JSON', 'a.json', '{"a":1}\n{"a":\n', /line 2 of .*a\.json is not valid JSON/],
  [
    'a line with a key twice',
    'a.json',
    '{"a":1}\n{"a":1,"a":2}\n',
    /line 2 of .*a\.json: the key "a" occurs twice/,
  ],
  [
    'a long integer and a key twice',
    'a.json',
    '[{"n":12345678901234567890,"n":1}]',
    /the key "n" occurs twice/,
  ],
  ['text', 'a.json', '"a"', /contains neither an object nor a list/],
])('%s is an error that says where', async (_, name, text, message) => {
  const thrown = await readText(name, text).catch((error: unknown) => error)
  expect(thrown).toBeInstanceOf(FileError)
  expect(String(thrown)).toMatch(message)
})

test('wrappers of another shape stay objects', async () => {
  const odd = [
    { a: { $oid: 'short' } },
    { a: { $date: 'never' } },
    { a: { $numberLong: '1', other: 1 } },
    { a: { $numberInt: 1 } },
    { a: { $toString: 'a' } },
  ]
  const { values } = await readText('odd.json', JSON.stringify(odd))
  expect(values.odd).toEqual(odd)
})
