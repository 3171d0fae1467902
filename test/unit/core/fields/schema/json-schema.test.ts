import { expect, test } from 'vitest'
import { compileJsonSchema } from '../../../../../src/core/fields/schema/json-schema.js'

const schema = { type: 'object', properties: { n: { type: 'number', minimum: 3 } } }

test('a violation has the value and the schema that it violates', () => {
  const find = compileJsonSchema(schema)
  const found = { path: '/n', keyword: 'minimum', params: { comparison: '>=', limit: 3 } }
  expect(find({ n: 3 })).toEqual([])
  expect(find({ n: 1 })).toEqual([{ ...found, found: 1, schema: schema.properties.n }])
})

test('answers are not kept: what was found once is not found again', () => {
  const find = compileJsonSchema(schema)
  const first = find({ n: 1 })
  expect(find({ n: 4 })).toEqual([])
  expect(first).toHaveLength(1)
})
