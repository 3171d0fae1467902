import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { compileConfig } from '../../../../src/core/config/compile-config.js'
import { publishedConfigSchema } from '../../../../src/core/config/shape/config-schema.js'

// CONTRACT.md §1, "Keys"

interface Schema {
  readonly [keyword: string]: unknown
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly description?: string
  readonly default?: unknown
  readonly examples?: readonly unknown[]
}

interface Key {
  /** Where the schema has it. */
  readonly at: string
  readonly name: string
  readonly schema: Schema
  readonly isRequired: boolean
}

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const published = publishedConfigSchema() as Schema

/** Every key that an editor shows: each property of each object in the schema, but for what only narrows others. */
function findKeys(schema: unknown, at = ''): readonly Key[] {
  if (Array.isArray(schema)) return schema.flatMap((inner, i) => findKeys(inner, `${at}/${i}`))
  if (!isObject(schema)) return []
  const required = Array.isArray(schema.required) ? schema.required : []
  const own = Object.entries(isObject(schema.properties) ? schema.properties : {}).flatMap(
    ([name, inner]): Key[] =>
      isObject(inner)
        ? [{ at: `${at}/properties/${name}`, name, schema: inner, isRequired: required.includes(name) }]
        : [],
  )
  const inner = Object.entries(schema).flatMap(([keyword, value]) => {
    if (['if', 'then', 'examples', 'default'].includes(keyword)) return []
    if (keyword !== 'properties' && keyword !== '$defs') return findKeys(value, `${at}/${keyword}`)
    return Object.entries(value as Schema).flatMap(([name, one]) => findKeys(one, `${at}/${keyword}/${name}`))
  })
  return [...own, ...inner]
}

const KEYS = findKeys(published)
const placesOf = (keys: readonly Key[]): readonly string[] => keys.map(({ at }) => at)

const ajv = new Ajv2020({ strict: false }).addSchema(published, 'published')
/** A part of the schema as a validator; equal parts share one, which ajv finds by the object. */
const parts = new Map<string, Schema>()
const validatorOf = (schema: Schema) => {
  const text = JSON.stringify(schema).replaceAll('#/$defs/', 'published#/$defs/')
  const part = parts.get(text) ?? JSON.parse(text)
  parts.set(text, part)
  return ajv.compile(part)
}

/** Optional keys without which something holds that a value can say. */
const HAVE_DEFAULTS =
  /^(?:required|nullable|immutable|unique|index|trim|lowercase|onDelete|permissions|additionalProperties|indexes|register|sessionDays|sessions|cost|verifiedField|requireVerified|resetMinutes|cookie|sameSite|path|origins|claims|defaultLimit|maxLimit|bodyBytes|documentBytes|queryBytes|conditions|values|groups|patterns|expanded|bulk|added|requestSeconds|changes|subscribers|changesHours|changesBytes)$/

describe('the published schema', () => {
  test('has all keys of a configuration', () => {
    const names = new Set(KEYS.map(({ name }) => name))
    for (const name of [
      '$comment',
      'collections',
      'type',
      'items',
      'pick',
      'where',
      '*',
      'owner',
      'cost',
      'bulk',
    ]) {
      expect(names).toContain(name)
    }
  })

  test('says of every key what it means, in a sentence', () => {
    expect(placesOf(KEYS.filter(({ schema }) => !/^\S.{8,}\.$/.test(schema.description ?? '')))).toEqual([])
  })

  test('names every default, as a value and in words', () => {
    const known = KEYS.filter(({ name, schema }) => HAVE_DEFAULTS.test(name) && schema.const === undefined)
    expect(placesOf(known.filter(({ schema }) => schema.default === undefined))).toEqual([])
    const stated = KEYS.filter(({ schema }) => schema.default !== undefined)
    expect(
      placesOf(stated.filter(({ isRequired, name }) => isRequired || !HAVE_DEFAULTS.test(name))),
    ).toEqual([])
    const unsaid = stated.filter(
      ({ schema }) => !schema.description?.endsWith(`Default: ${JSON.stringify(schema.default)}.`),
    )
    expect(placesOf(unsaid)).toEqual([])
  })

  test('has an example wherever a key does not list all of its values', () => {
    const open = KEYS.filter(({ at, schema }) => {
      const listsAll = schema.type === 'boolean' || schema.enum !== undefined || schema.const !== undefined
      // Behind `else` nobody knows the type.
      return !listsAll && schema.$ref !== '#/$defs/grant' && !at.includes('/else/')
    })
    expect(placesOf(open.filter(({ schema }) => !schema.examples?.length))).toEqual([])
  })

  test('has examples and defaults that it accepts', () => {
    const wrong = KEYS.flatMap(({ at, schema }) => {
      const validate = validatorOf(schema)
      const values = [...(schema.examples ?? []), ...('default' in schema ? [schema.default] : [])]
      return values.filter((value) => !validate(value)).map((value) => [at, value])
    })
    expect(wrong).toEqual([])
  })

  test('has the defaults that hold', () => {
    const users = {
      schema: { email: { type: 'string', unique: true, lowercase: true }, pin: { type: 'hash' } },
    }
    const options = { production: false, hasAuthenticate: false }
    const limits = KEYS.filter(({ at }) => at.startsWith('/properties/limits/properties/'))
    const stated = Object.fromEntries(
      limits.flatMap(({ name, schema }) => (name === '$comment' ? [] : [[name, schema.default]])),
    )
    expect(compileConfig({ collections: {} }, options).limits).toEqual(stated)
    const auth = Object.fromEntries(
      KEYS.filter(({ at }) => at.startsWith('/properties/auth/')).map(({ name, schema }) => [
        name,
        schema.default,
      ]),
    )
    const day = 24 * 60 * 60 * 1000
    expect(compileConfig({ collections: { users } }, options).auth).toMatchObject({
      register: auth.register,
      sessionMilliseconds: Number(auth.sessionDays) * day,
      cost: auth.cost,
    })
  })
})
