import { describe, expect, test } from 'vitest'
import { compileConfig } from '../../../../src/core/config/compile-config.js'

// CONTRACT.md §1, "Collections": what is always indexed.

const REFERENCE = { type: 'reference', collection: 'things' }
const SCHEMA = {
  code: { type: 'string', unique: true },
  size: { type: 'integer', index: true },
  other: { type: 'string' },
  parent: REFERENCE,
  address: { type: 'object', properties: { at: { type: 'object', properties: { home: REFERENCE } } } },
  friends: { type: 'array', items: REFERENCE },
  parts: {
    type: 'array',
    items: { type: 'object', properties: { of: { type: 'object', properties: { thing: REFERENCE } } } },
  },
}

const planOf = (permissions: object) => {
  const config = { collections: { things: { schema: SCHEMA, permissions } } }
  return compileConfig(config, { production: false, hasAuthenticate: true }).collections.get('things')
    ?.storage
}

describe('indexed are', () => {
  test.each<[what: string, object, string[]]>([
    ['unique and marked fields, references and createdAt', {}, []],
    ['createdBy too, where owner may read', { owner: { read: true } }, ['createdBy']],
    ['createdBy not, where owner may not read', { owner: { read: false, delete: true } }, []],
  ])('%s', (_, permissions, more) => {
    const indexed = planOf(permissions)?.indexes.map(({ fields }) => fields.map(({ path }) => path))
    expect(indexed).toEqual([
      ['code'],
      ['size'],
      ['parent'],
      ['address.at.home'],
      ['friends'],
      ['parts'],
      ['createdAt'],
      ...more.map((name) => [name]),
    ])
  })

  test('references in objects by their value, in arrays by those of the elements', () => {
    expect(planOf({})?.indexes.slice(3, 6)).toEqual(
      [
        { path: 'address.at.home', type: 'string', each: false },
        { path: 'friends', type: 'string', each: true },
        { path: 'parts', type: 'string', each: true, inside: 'of.thing' },
      ].map((field) => ({ fields: [field], unique: false })),
    )
  })

  test('marked arrays, and those of declared indexes, by their elements', () => {
    const schema = {
      tags: { type: 'array', items: { type: 'string' }, maxItems: 20, index: true },
      days: { type: 'array', items: { type: 'timestamp' }, maxItems: 1000 },
    }
    const indexes = [{ fields: ['createdAt', 'days', 'createdBy'] }]
    const config = { collections: { things: { schema, indexes } } }
    const { collections } = compileConfig(config, { production: false, hasAuthenticate: true })
    const day = { path: 'days', type: 'timestamp', each: true }
    const [at, by] = [
      { path: 'createdAt', type: 'timestamp', each: false },
      { path: 'createdBy', type: 'string', each: false },
    ]
    expect(collections.get('things')?.storage.indexes).toEqual(
      [[{ path: 'tags', type: 'string', each: true }], [at], [at, day, by]].map((fields) => ({
        fields,
        unique: false,
      })),
    )
  })
})
