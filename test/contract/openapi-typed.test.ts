import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { describeApi } from '../../src/tools/insight/index.js'

// CONTRACT.md §8, "OpenAPI": generators read a schema, and each branch of one, by itself

type Json = { readonly [name: string]: unknown }

/** The keywords that mean something for one type alone. */
const OF_ONE_TYPE = [
  ...['minLength', 'maxLength', 'pattern', 'format', 'minimum', 'maximum'],
  ...['items', 'minItems', 'maxItems', 'properties', 'required', 'additionalProperties', 'const', 'enum'],
]
/** Generators pass over `not`. */
const SCHEMAS_IN = ['anyOf', 'allOf', 'contains', 'items', 'additionalProperties', 'schema']
const BY_NAME_IN = ['properties', 'schemas']

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Finds the schemas in a part of a document, each with its place. */
function* findSchemas(part: unknown, at: string, isSchema: boolean): Generator<readonly [string, Json]> {
  if (Array.isArray(part))
    for (const [i, one] of part.entries()) yield* findSchemas(one, `${at}/${i}`, isSchema)
  if (!isObject(part)) return
  if (isSchema) yield [at, part]
  for (const [name, inner] of Object.entries(part)) {
    const path = `${at}/${name}`
    if (BY_NAME_IN.includes(name) && isObject(inner)) {
      for (const [key, one] of Object.entries(inner)) yield* findSchemas(one, `${path}/${key}`, true)
    } else yield* findSchemas(inner, path, SCHEMAS_IN.includes(name))
  }
}

const untypedIn = (document: object): readonly string[] =>
  [...findSchemas(document, '', false)].flatMap(([at, schema]) =>
    schema.type === undefined && OF_ONE_TYPE.some((keyword) => keyword in schema) ? [at] : [],
  )

const ofEveryText = {
  collections: {
    things: {
      additionalProperties: true,
      schema: Object.fromEntries(
        [
          {},
          { trim: true, minLength: 1 },
          { trim: true, lowercase: true, minLength: 2, maxLength: 9, pattern: '^a' },
          { unique: true },
          { unique: true, trim: true, minLength: 1, maxLength: 500, lowercase: true, pattern: 'a|^b' },
          { index: true, nullable: true, format: 'uri' },
          { enum: ['a', 'ba'], nullable: true, lowercase: true, pattern: 'a' },
        ].map((field, i) => [`text${i}`, { type: 'string', ...field }]),
      ),
      permissions: { '*': { read: true, create: true, update: true, delete: true } },
    },
    users: {
      schema: { email: { type: 'string', unique: true, required: true }, key: { type: 'hash' } },
      permissions: { owner: { read: true, update: true } },
    },
  },
}

test('what holds of one type alone is beside the type, in every branch', async () => {
  for (const file of ['config.json', 'team/config.json', 'teams/config.json']) {
    const config = await readFile(new URL(`../../examples/${file}`, import.meta.url), 'utf8')
    expect(untypedIn(describeApi(JSON.parse(config)))).toEqual([])
  }
  const document = describeApi(ofEveryText as never)
  expect(untypedIn(document)).toEqual([])
  const places = [...findSchemas(document, '', false)].map(([at]) => at)
  expect(places).toContain('/components/schemas/things.create/properties/text4')
  expect(places).toContain('/components/schemas/service.json/anyOf/3/not/contains')
})

test('values of an enum have no pattern beside them', () => {
  const document = describeApi(ofEveryText as never)
  const chosen = [...findSchemas(document, '', false)].filter(([, schema]) => 'enum' in schema)
  expect(chosen.length).toBeGreaterThan(5)
  expect(chosen.filter(([, schema]) => 'pattern' in schema)).toEqual([])
})

test('a text has no branches but that of null', () => {
  const { schemas } = describeApi(ofEveryText as never).components as { readonly schemas: Json }
  const { properties } = schemas['things.create'] as { readonly properties: { [name: string]: Json } }
  for (const [name, { type, anyOf = [{ type }], allOf }] of Object.entries(properties)) {
    const types = (anyOf as Json[]).map((one) => one.type)
    expect([name, types.filter((one) => one !== 'null'), allOf]).toEqual([name, ['string'], undefined])
  }
})

const components = (config: object): Json => describeApi(config as never).components as Json

test('no schema is an array of itself, but inside an object', () => {
  const { schemas } = components(ofEveryText)
  /** What a type of TypeScript is made of at once: the properties of objects are looked at later. */
  const findAtOnce = (schema: Json): readonly unknown[] => [
    ...(schema.$ref === undefined ? [] : [schema.$ref]),
    ...[schema.items, schema.anyOf, schema.allOf]
      .flat()
      .flatMap((one) => (isObject(one) ? findAtOnce(one) : [])),
  ]
  for (const [name, schema] of Object.entries(schemas as { readonly [name: string]: Json }))
    expect([name, findAtOnce(schema)]).not.toEqual([
      name,
      expect.arrayContaining([`#/components/schemas/${name}`]),
    ])
})

test('parameters have names that generators can tell apart', () => {
  const things = {
    schema: { id: { type: 'string' }, in: { type: 'string' }, n: { type: 'number' } },
    permissions: { '*': { read: true } },
  }
  const names = Object.keys(components({ collections: { things } }).parameters as Json)
  expect(names.length).toBeGreaterThan(20)
  const pascal = names.map((name) => name.replaceAll(/(?:^|[._-]+)(\w)/g, (_, first) => first.toUpperCase()))
  expect([...new Set(pascal)]).toEqual(pascal)
})
