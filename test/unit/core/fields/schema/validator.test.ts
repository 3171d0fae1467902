import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { compileFields } from '../../../../../src/core/fields/compile-fields.js'
import { isEmail } from '../../../../../src/core/fields/email.js'
import { normaliseProperties } from '../../../../../src/core/fields/schema/normalise.js'
import { compileValidator } from '../../../../../src/core/fields/schema/validator.js'
import { STRING_FORMATS } from '../../../../../src/core/fields/types/string.js'
import { parsePattern } from '../../../../../src/core/filter/pattern/parse-pattern.js'
import type { JsonSchema } from '../../../../../src/core/json/json-schema.js'
import { toPointerPart } from '../../../../../src/core/json/pointer.js'
import type { FieldDefinition, JsonObject } from '../../../../../src/core/types.js'
import { describeValue } from '../../../../../src/tools/openapi/schemas/value-schema.js'
import fc from '../../../../support/fast-check.js'
import { rounds, seedOf } from '../../../../support/tier.js'

// CONTRACT.md §1, "Field types"

type Definitions = { readonly [name: string]: FieldDefinition }

const validatorOf = (definitions: Definitions) => {
  const fields = compileFields(definitions)
  const options = {
    additionalProperties: false,
    reserved: new Set<string>(),
    indexed: new Set<string>(),
    parsePattern,
  }
  const validate = compileValidator(fields, options)
  return (body: JsonObject) =>
    validate(normaliseProperties(fields, body), { limit: Number.POSITIVE_INFINITY })
}

/** Judges bodies by the schema that a description has for the same fields. */
function judgeOf(definitions: Definitions): (body: JsonObject) => readonly string[] {
  const fields = compileFields(definitions)
  const options = {
    use: 'element' as const,
    describeAny: () => ({}),
    describeReference: () => ({ type: 'string' }),
    indexed: new Set<string>(),
  }
  const schema: JsonSchema = {
    type: 'object',
    properties: Object.fromEntries(fields.map((field) => [field.name, describeValue(field, options)])),
    required: fields.filter(({ definition }) => definition.required).map(({ name }) => name),
    additionalProperties: false,
  }
  const ajv = new Ajv({ allErrors: true, ownProperties: true, strict: false })
  addFormats.default(ajv)
  ajv.addFormat('idn-email', isEmail)
  const validate = ajv.compile(schema)
  return (body) => {
    validate(body)
    return (validate.errors ?? []).map(({ instancePath, params }) => {
      const name = params.missingProperty ?? params.additionalProperty
      return name === undefined ? instancePath : instancePath + toPointerPart(String(name))
    })
  }
}

/** Texts of lengths around the bounds, in code points and in UTF-16, and texts around the formats. */
const TEXTS = [
  ...[
    '',
    'a',
    'ab',
    'abc',
    'abcd',
    '\u{1f600}',
    'a\u{1f600}',
    '\u{1f600}\u{1f600}',
    '\u{1f600}b\u{1f600}',
    'é',
  ],
  ...['a\0', 'draft', 'done', 'Draft', 'b1', 'a@b.co', 'a@b', 'ä@b.co', 'http://a.b', 'a b', 'mailto:x'],
  ...['2020-02-29', '2021-02-29', '12:00:00Z', '24:00:00Z', '12:00:00', '1.2.3.4', '256.1.1.1', '::1', ':::'],
  ...[
    'example.com',
    '-a.com',
    '01990000-0000-7000-8000-000000000000',
    '01990000-0000-7000-8000-00000000000g',
  ],
  ...[
    '2026-01-01T00:00:00.000Z',
    '2026-01-01T00:00:00+02:00',
    '2026-02-30T00:00:00Z',
    '2026-01-01T23:59:60Z',
  ],
]
const MOST = Number.MAX_SAFE_INTEGER
const NUMBERS = [
  ...[0, -0, 1, -1, 2, 3, 5, 0.5, 0.49999999999999994, 0.5000000000000001, 1.5, 5.000000000000001],
  ...[MOST, -MOST, MOST + 1, -MOST - 1, 1e21, 1e308, -1e308, 5e-324],
]

const text: fc.Arbitrary<FieldDefinition> = fc.oneof(
  fc.record({
    type: fc.constant('string'),
    minLength: fc.constantFrom(0, 1, 2),
    maxLength: fc.constantFrom(2, 3),
  }),
  fc.record({ type: fc.constant('string'), format: fc.constantFrom(...STRING_FORMATS) }),
  fc.record({
    type: fc.constant('string'),
    pattern: fc.constantFrom('^a', 'b$', '\\d', '^[^b]*$', '\u{1f600}'),
    minLength: fc.constantFrom(0, 2),
  }),
  fc.constantFrom<FieldDefinition>(
    { type: 'string' },
    { type: 'string', enum: ['draft', 'done'] },
    { type: 'string', enum: ['draft', 'done', 'a'], minLength: 2 },
  ),
)
const number: fc.Arbitrary<FieldDefinition> = fc.oneof(
  fc.record({
    type: fc.constantFrom('number' as const, 'integer' as const),
    minimum: fc.constantFrom(0, 0.5, -1),
    maximum: fc.constantFrom(5, 1e300),
  }),
  fc.record({ type: fc.constantFrom('number' as const, 'integer' as const), enum: fc.constant([0, 1, 3]) }),
  fc.record({ type: fc.constantFrom('number' as const, 'integer' as const) }),
)

const { definition } = fc.letrec<{ definition: FieldDefinition }>((tie) => ({
  definition: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    number,
    fc.constantFrom<FieldDefinition>({ type: 'boolean' }, { type: 'timestamp' }, { type: 'json' }),
    fc.record({
      type: fc.constant('array'),
      items: tie('definition'),
      minItems: fc.constantFrom(0, 1),
      maxItems: fc.constantFrom(2, 3),
    }) as fc.Arbitrary<FieldDefinition>,
    fc.record({
      type: fc.constant('object'),
      properties: fc.dictionary(fc.constantFrom('p', 'q', 'toString'), presence(tie('definition')), {
        maxKeys: 3,
      }),
    }) as fc.Arbitrary<FieldDefinition>,
  ),
}))

function presence(of: fc.Arbitrary<FieldDefinition>): fc.Arbitrary<FieldDefinition> {
  return fc.tuple(of, fc.boolean()).map(([one, required]) => (required ? { ...one, required } : one))
}

const scalar = fc.constantFrom<unknown>(null, true, false, ...TEXTS, ...NUMBERS)
const junk = fc.oneof(
  scalar,
  fc.constant([]),
  fc.constant({}),
  fc.constant([{ p: 1 }]),
  fc.constant({ p: [null] }),
)

/** Values that mostly have the type of a field. */
function valueFor(one: FieldDefinition): fc.Arbitrary<unknown> {
  const often = (value: fc.Arbitrary<unknown>) =>
    fc.oneof({ weight: 9, arbitrary: value }, { weight: 1, arbitrary: junk })
  switch (one.type) {
    case 'number':
    case 'integer':
      return often(fc.constantFrom(...NUMBERS))
    case 'boolean':
      return often(fc.boolean())
    // Storage keeps fewer texts and numbers than the schema of this test allows in JSON.
    case 'json':
      return fc.constantFrom<unknown>(null, 1, 'a', [], { a: [{ b: null }] })
    case 'array':
      return often(fc.array(valueFor(one.items), { maxLength: 4 }))
    case 'object':
      return often(bodyOf(one.properties))
    default:
      return often(fc.constantFrom(...TEXTS))
  }
}

const bodyOf = (definitions: Definitions): fc.Arbitrary<JsonObject> =>
  fc
    .tuple(
      fc.record(Object.fromEntries(Object.entries(definitions).map(([name, one]) => [name, valueFor(one)])), {
        requiredKeys: [],
      }),
      fc.constantFrom({}, {}, {}, {}, {}, {}, {}, { unknown: 1 }),
    )
    .map(([known, unknown]) => ({ ...known, ...unknown }))

const NAMES = ['a', 'b', 'c', 'valueOf']

test('a body is accepted as its published schema accepts it, and is wrong in the same places', () => {
  const seen = { fine: 0, wrong: 0 }
  const fields = fc.dictionary(fc.constantFrom(...NAMES), presence(definition), { minKeys: 1, maxKeys: 4 })
  const cases = fields.chain((definitions) =>
    fc.tuple(fc.constant(definitions), fc.array(bodyOf(definitions), { minLength: 10, maxLength: 10 })),
  )
  fc.assert(
    fc.property(cases, ([definitions, bodies]) => {
      const [validate, judge] = [validatorOf(definitions), judgeOf(definitions)]
      for (const body of bodies) {
        const paths = validate(body).map(({ path }) => path)
        seen[paths.length === 0 ? 'fine' : 'wrong'] += 1
        expect(new Set(paths)).toEqual(new Set(judge(body)))
        expect(paths).toHaveLength(new Set(paths).size)
      }
    }),
    { numRuns: rounds(150), seed: seedOf(1) },
  )
  expect(Math.min(seen.fine, seen.wrong)).toBeGreaterThan(rounds(20))
})

describe('of several errors at one place, the first one counts', () => {
  const wrong = (one: FieldDefinition, value: unknown) =>
    validatorOf({ a: one })({ a: value }).map(({ code }) => code)

  test.each<readonly [FieldDefinition, unknown, string]>([
    [{ type: 'string', enum: ['ab'] }, 1, 'wrong_type'],
    [{ type: 'string', enum: ['ab'], minLength: 2 }, 1, 'not_allowed'],
    [{ type: 'string', enum: ['ab'], minLength: 2 }, 'a', 'not_allowed'],
    [{ type: 'number', enum: [1], minimum: 0 }, 'a', 'not_allowed'],
    [{ type: 'integer', enum: [1], minimum: 0 }, 'a', 'wrong_type'],
    [{ type: 'integer', minimum: 0 }, -0.5, 'wrong_type'],
    [{ type: 'string', maxLength: 1, format: 'email' }, 'ab', 'too_long'],
    [{ type: 'string', minLength: 2, pattern: 'b' }, 'a', 'too_short'],
    [{ type: 'string', format: 'email', pattern: 'b' }, 'a', 'wrong_format'],
    [{ type: 'timestamp', minimum: '2020-01-01T00:00:00.000Z' }, 'a', 'wrong_format'],
    [{ type: 'string' }, '\ud800', 'invalid_text'],
    [{ type: 'boolean' }, Number.NaN, 'number_out_of_range'],
  ])('%j, given %j: %s', (one, value, code) => {
    expect(wrong(one, value)).toEqual([code])
  })
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
  const validate = validatorOf({ list: { type: 'array', items: { type: 'string', enum: allowed } } })
  reads = 0
  expect(validate({ list: Array.from({ length: 1000 }, () => 'value 999') })).toEqual([])
  expect(reads).toBe(0)
  expect(validate({ list: ['value 1', 'value 1000'] })).toMatchObject([
    { path: '/list/1', code: 'not_allowed' },
  ])
})
