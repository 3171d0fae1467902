import { describe, expect, test } from 'vitest'
import { compileConfig } from '../../../src/config/compile-config.js'

// CONTRACT.md §1, "Collections": what is always indexed.

const REFERENCE = { type: 'reference', collection: 'things' }
const SCHEMA = {
  code: { type: 'string', unique: true },
  size: { type: 'integer', index: true },
  other: { type: 'string' },
  parent: REFERENCE,
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
    expect(indexed).toEqual([['code'], ['size'], ['parent'], ['createdAt'], ...more.map((name) => [name])])
  })

  test('references in arrays, by their elements', () => {
    expect(planOf({})?.elements).toEqual([
      { path: 'friends', type: 'string', each: true },
      { path: 'parts', type: 'string', each: true, inside: 'of.thing' },
    ])
  })
})
