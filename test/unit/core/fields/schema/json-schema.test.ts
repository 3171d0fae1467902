import { expect, test } from 'vitest'
import { compileJsonSchema } from '../../../../../src/core/fields/schema/json-schema.js'
import { useCaches } from '../../../../support/caches.js'

useCaches()

const schemaOf = (minimum: number) => ({ type: 'object', properties: { n: { type: 'number', minimum } } })

test('the same schema is compiled once, wherever it stands', () => {
  expect(compileJsonSchema(schemaOf(1))).toBe(compileJsonSchema(schemaOf(1)))
})

test('what differs in a schema or in what is told of it is compiled apart', () => {
  const [one, two] = [compileJsonSchema(schemaOf(1)), compileJsonSchema(schemaOf(2))]
  const found = { path: '/n', keyword: 'minimum', params: { comparison: '>=', limit: 2 } }
  expect(one({ n: 1 })).toEqual([])
  expect(two({ n: 1 })).toEqual([found])
  const verbose = compileJsonSchema(schemaOf(2), { verbose: true })
  expect(verbose({ n: 1 })).toEqual([{ ...found, found: 1, schema: schemaOf(2).properties.n }])
})

test('answers are not kept: what was found once is not found again', () => {
  const find = compileJsonSchema(schemaOf(3))
  const first = find({ n: 1 })
  expect(find({ n: 4 })).toEqual([])
  expect(first).toHaveLength(1)
})

test('of many schemas only the last ones are kept', () => {
  const long = (i: number) => ({ enum: [`${i}`, 'x'.repeat(50_000)] })
  const first = compileJsonSchema(long(0))
  for (let i = 1; i < 10; i++) compileJsonSchema(long(i))
  expect(compileJsonSchema(long(0))).not.toBe(first)
})

test('a value is looked up among those allowed, and not compared with each', () => {
  let reads = 0
  const allowed = new Proxy(
    Array.from({ length: 1000 }, (_, i) => `value ${i}`),
    {
      get(list, name, receiver) {
        reads += 1
        return Reflect.get(list, name, receiver)
      },
    },
  )
  const find = compileJsonSchema({ type: 'array', items: { type: 'string', enum: allowed } })
  reads = 0
  expect(find(Array.from({ length: 1000 }, () => 'value 999'))).toEqual([])
  expect(reads).toBe(0)
  expect(find(['value 1', 'value 1000'])).toMatchObject([{ path: '/1', keyword: 'enum' }])
})
