import { MAX_INDEXED_BYTES } from '../../fields/object-schema.js'
import { MAX_SECRET_BYTES } from '../../fields/types/hash.js'
import type { JsonSchema } from '../../json/json-schema.js'

/** Any text that can be stored. */
export const TEXT: JsonSchema = { type: 'string', pattern: '^[^\\x00]*$' }

/** A whole number beyond this is not stored. */
const MOST = Number.MAX_SAFE_INTEGER

/** A number that can be stored, within the bounds of `keywords`. */
export const describeNumber = ({ minimum = -MOST, maximum = MOST, ...keywords }: JsonSchema): JsonSchema =>
  'enum' in keywords
    ? keywords
    : {
        ...keywords,
        minimum: Math.max(Number(minimum), -MOST),
        maximum: Math.min(Number(maximum), MOST),
      }

// No leap second, no year 0, and nothing that another zone would move out of the years 0001 to 9999.
const TIME =
  '^(?!0000|(?:0001-01-01|9999-12-31).*[+-]\\d\\d:)\\d{4}-\\d\\d-\\d\\d(?:[Tt]\\d\\d:\\d\\d:[0-5]\\d(?:\\.\\d+)?(?:[Zz]|[+-]\\d\\d:\\d\\d))?$'

/**
 * A time as a client may give it, type and pattern in each branch: generators read a branch by itself. JSON Schema has no
 * bounds for times; `formatMinimum` and `formatMaximum` are those of ajv, which other tools ignore.
 */
export const describeTime = ({ notBefore, notAfter }: JsonSchema): JsonSchema =>
  notBefore === undefined && notAfter === undefined
    ? { anyOf: ['date-time', 'date'].map((format) => ({ type: 'string', format, pattern: TIME })) }
    : {
        type: 'string',
        format: 'date-time',
        pattern: TIME,
        ...(notBefore === undefined ? {} : { formatMinimum: notBefore }),
        ...(notAfter === undefined ? {} : { formatMaximum: notAfter }),
      }

/** The values of a schema, or `null`: one more branch where the schema is nothing but branches. */
export function orNull(schema: JsonSchema): JsonSchema {
  const { anyOf, ...others } = schema
  const isBranched = Array.isArray(anyOf) && Object.keys(others).length === 0
  return { anyOf: [...(isBranched ? anyOf : [schema]), { type: 'null' }] }
}

/** What is removed from a text, or changed in it, before it is judged. */
interface Normalised {
  readonly trim?: boolean | undefined
  readonly lowercase?: boolean | undefined
}

/** Text as a client may give it: what is judged after it was normalised is described as it is before. */
export function describeText(
  { maxBytes, ...keywords }: JsonSchema,
  own: string | undefined,
  { trim, lowercase }: Normalised,
): JsonSchema {
  const { minLength, maxLength, format } = keywords
  const isLimited = maxLength !== undefined || maxBytes !== undefined
  const patterns = [
    // What has a format, or is one of several, is without NUL.
    ...(format === undefined && !('enum' in keywords) ? [domainOf(lowercase === true && isLimited)] : []),
    ...(trim && typeof minLength === 'number' && minLength > 0 ? [trimmedFrom(minLength)] : []),
    ...(own === undefined ? [] : [...(lowercase ? [LOWERED] : []), ...(trim ? [TRIMMED] : []), own]),
  ]
  const [first, ...others] = patterns
  return {
    ...keywords,
    ...(maxBytes === undefined ? {} : fewBytes(Number(maxLength ?? Number.POSITIVE_INFINITY))),
    ...(first === undefined ? {} : { pattern: first }),
    ...(others.length > 0 ? { allOf: others.map((pattern) => ({ pattern })) } : {}),
  }
}

/** In lower case, U+0130 alone becomes longer. */
const domainOf = (mayGrow: boolean): string => (mayGrow ? '^[^\\x00\\u0130]*$' : '^[^\\x00]*$')

/**
 * Text whose lower case a pattern can be told of: that of U+0130 is two characters, that of U+03A3 depends on what is
 * around it, and that of U+212A is a letter of ASCII, beside which a word has its edge.
 */
const LOWERED = '^[^\\u0130\\u03a3\\u212a]*$'

/** Text without white space around it: what a pattern would find there is removed. */
const TRIMMED = '^(?:\\S(?:[\\s\\S]*\\S)?)?$'

/** Text that keeps so many characters once the white space around it is gone. */
const trimmedFrom = (length: number): string => (length === 1 ? '\\S' : `\\S[\\s\\S]{${length - 2},}\\S`)

/** JSON Schema counts characters, and an index bytes: up to four for each, and one in ASCII. */
const fewBytes = (maxLength: number): JsonSchema =>
  maxLength <= MAX_INDEXED_BYTES / 4
    ? {}
    : { anyOf: [{ maxLength: MAX_INDEXED_BYTES / 4 }, { maxLength: MAX_INDEXED_BYTES, pattern: '^[ -~]*$' }] }

/** A secret, which is nowhere shown. */
export const describeSecret = ({ maxBytes, ...keywords }: JsonSchema): JsonSchema => ({
  ...keywords,
  maxLength: Math.min(Number(keywords.maxLength ?? MAX_SECRET_BYTES), MAX_SECRET_BYTES),
  format: 'password',
  writeOnly: true,
})

/** Any JSON that can be stored, by a reference to itself; 32 levels at most, which no schema can say. */
export const describeAny = (self: JsonSchema): JsonSchema => ({
  description: 'Any JSON, nested at most 32 levels deep.',
  anyOf: [
    { type: ['null', 'boolean'] },
    TEXT,
    describeNumber({ type: 'number' }),
    { type: 'array', items: self },
    {
      type: 'object',
      propertyNames: { pattern: '^(?!__proto__$)[^\\x00]*$' },
      additionalProperties: self,
    },
  ],
})
