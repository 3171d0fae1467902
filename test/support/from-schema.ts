import fc from './fast-check.js'
import { createJudge, findIn } from './json-schema.js'

type Schema = { readonly [keyword: string]: unknown }
type Schemas = { readonly [name: string]: Schema }

const SPACES = ['', ' ', '\t', '\u00a0']
const CHARACTERS = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...'abcXYZ019 -_.@"\\/') },
  { weight: 1, arbitrary: fc.constantFrom('\u0000', '\n', '\u2028', 'é', 'İ', 'ß', '😀', '\uffff') },
)
const text = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .tuple(
        fc.constantFrom(...SPACES),
        fc.string({ unit: CHARACTERS, maxLength: 12 }),
        fc.constantFrom(...SPACES),
      )
      .map((parts) => parts.join('')),
  },
  // What a query reads as something else than text.
  {
    weight: 1,
    arbitrary: fc.constantFrom('null', ' null', 'true', '1', '"', '"a"', '[', '["a"]', '{', '{}'),
  },
)
const longText = fc
  .tuple(CHARACTERS, fc.integer({ min: 0, max: 1100 }))
  .map(([one, times]) => one.repeat(times))

const times = fc.constantFrom(
  '2026-11-20T08:00:00.000Z',
  '2026-11-20',
  '2024-02-29',
  '2023-02-29',
  '0001-01-01',
  '0000-01-01',
  '9999-12-31',
  '0001-01-01T00:00:00+14:00',
  '9999-12-31T23:59:59.9999-01:00',
  '2016-12-31T23:59:60Z',
  '2026-11-20t08:00:00.123456z',
  '2026-11-20T08:00:00+05:30',
  '2020-01-01T00:00:00Z',
  '2030-01-01T00:00:00Z',
)

const BY_FORMAT: { readonly [format: string]: fc.Arbitrary<string> } = {
  'idn-email': fc.oneof(
    fc.emailAddress(),
    fc.constantFrom('JOSÉ@example.org', '用户@example.cn', 'Δήμος@example.gr'),
  ),
  uri: fc.webUrl(),
  uuid: fc.uuid(),
  date: times,
  'date-time': times,
  time: fc.constantFrom('08:00:00Z', '23:59:60Z', '08:00:00+01:00', '08:00:00'),
  ipv4: fc.ipV4(),
  ipv6: fc.ipV6(),
  hostname: fc.domain(),
  password: fc.constantFrom('correct horse', 'short', 'battery staple'),
}

/** How an aggregate divides documents: the pattern of the field decides which of them it accepts. */
const FORMS = [
  'value',
  'hour',
  'week',
  'year',
  '[1]',
  '[0.5]',
  '["a"]',
  '["2026-01-01","2026-01-02T00:00:00Z"]',
]

const numbers = fc.oneof(
  fc.integer({ min: -10, max: 10 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(-0, 2.5, 2 ** 53 - 1, 2 ** 53, -(2 ** 53), 1e21, 5e-324, 1e308),
)

/** Creates what makes valid values of the schemas of an OpenAPI document. Paths of a batch name the `ids`. */
export function createFromSchema(
  document: object,
  ids: readonly string[],
): (schema: Schema) => fc.Arbitrary<unknown> {
  const judge = createJudge(findIn(document))
  const isValid = (schema: Schema, value: unknown): boolean => judge(schema, value) === undefined
  const find = (ref: string): Schema =>
    ref
      .slice(2)
      .split('/')
      .reduce((found, part) => (found as Schemas)[part] as Schema, document as Schema)
  const made = new Map<Schema, fc.Arbitrary<unknown>>()
  const valuesOf = (schema: Schema, depth = 0): fc.Arbitrary<unknown> => {
    const known = made.get(schema)
    if (known) return known
    const values = fc
      .memo(() => candidates(schema, depth))()
      .filter((value) => isValid(schema, value))
    made.set(schema, values)
    return values
  }
  const candidates = (schema: Schema, depth: number): fc.Arbitrary<unknown> => {
    if (schema.$ref !== undefined) return valuesOf(find(String(schema.$ref)), depth)
    if ('const' in schema) return fc.constant(schema.const)
    if (schema.enum) return fc.constantFrom(...(schema.enum as unknown[]))
    const inside = (schema.anyOf ?? schema.allOf) as readonly Schema[] | undefined
    if (inside && schema.type === undefined) {
      // Any JSON is made of itself.
      const few = depth > 4 ? inside.filter(({ type }) => type !== 'array' && type !== 'object') : inside
      return fc.oneof(...few.filter(({ not }) => !not).map((one) => valuesOf({ ...one }, depth + 1)))
    }
    switch ([schema.type].flat()[0]) {
      case 'null':
        return fc.constantFrom(null, true, false)
      case 'boolean':
        return fc.boolean()
      case 'integer':
      case 'number':
        return numbers
      case 'array': {
        const { minItems = 0, maxItems = 4 } = schema as { minItems?: number; maxItems?: number }
        const length = { minLength: minItems, maxLength: Math.max(minItems, Math.min(maxItems, 4)) }
        // The elements of any JSON are such JSON.
        const { contains } = (schema.not ?? {}) as { contains?: { not: Schema } }
        const elements = valuesOf(contains?.not ?? (schema.items as Schema), depth + 1)
        return schema.uniqueItems === true
          ? fc.uniqueArray(elements, { ...length, selector: (one) => JSON.stringify(one) })
          : fc.array(elements, length)
      }
      case 'object':
        return objectOf(schema, depth)
      default:
        return textOf(schema)
    }
  }
  const textOf = ({ format, pattern, maxLength }: Schema): fc.Arbitrary<string> => {
    const [, prefix] = /^\^(\/[\w-]+\/)/.exec(String(pattern ?? '')) ?? []
    if (prefix) return fc.constantFrom(...ids.map((id) => prefix + id))
    if (String(pattern).includes('[!#-~]')) return fc.constantFrom('*', '"a"', '"a", "b"')
    if (String(pattern).startsWith('^(?:value')) return fc.constantFrom(...FORMS)
    if (typeof format === 'string') return BY_FORMAT[format] ?? text
    return Number(maxLength) > 256 ? fc.oneof(text, longText) : text
  }
  const objectOf = (schema: Schema, depth: number): fc.Arbitrary<unknown> => {
    const { properties = {}, required = [], additionalProperties, patternProperties } = schema
    const names = Object.keys(properties as object).filter((name) =>
      isAskedFor((properties as Schemas)[name]),
    )
    const own = fc.record(
      Object.fromEntries(
        names.map((name) => [name, valuesOf((properties as Schemas)[name] as Schema, depth + 1)]),
      ),
      { requiredKeys: names.filter((name) => (required as readonly string[]).includes(name)) },
    )
    const [others] = Object.values((patternProperties ?? {}) as Schemas)
    const more =
      others ?? (typeof additionalProperties === 'object' ? (additionalProperties as Schema) : undefined)
    if (!more || depth > 4) return own
    const name = fc.constantFrom('extra', 'constructor', '__proto__', 'x1', 'createdAt', 'a b', '')
    return fc
      .tuple(own, fc.array(fc.tuple(name, valuesOf(more, depth + 1)), { maxLength: 2 }))
      .map(([known, added]) => Object.fromEntries([...added, ...Object.entries(known)]))
  }
  return (schema) => valuesOf(schema)
}

/** References and secrets are asked for elsewhere. */
const isAskedFor = (schema: Schema | undefined): boolean =>
  schema !== undefined && !JSON.stringify(schema).includes('x-collection') && schema.writeOnly !== true
