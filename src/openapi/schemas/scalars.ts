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

/**
 * Text as a client may give it: what is judged after it was normalised is described as it is before. All that holds of it
 * is in one pattern beside the type: generators lose what they find in `allOf`, or in branches without a type.
 */
export function describeText(
  { maxBytes, ...keywords }: JsonSchema,
  own: string | undefined,
  { trim, lowercase }: Normalised,
): JsonSchema {
  const { minLength, maxLength = Number.POSITIVE_INFINITY, format } = keywords
  const isLong = maxBytes !== undefined && Number(maxLength) > MAX_INDEXED_BYTES / 4
  const isLimited = Number.isFinite(maxLength) || isLong
  // In lower case, U+0130 alone becomes longer.
  const character = lowercase && isLimited ? '[^\\x00\\u0130]' : '[^\\x00]'
  const heads = [
    ...(trim && typeof minLength === 'number' && minLength > 0 ? [trimmedFrom(minLength)] : []),
    ...(own === undefined
      ? []
      : [...(lowercase ? [LOWERED] : []), ...(trim ? [TRIMMED] : []), `[\\s\\S]*?(?:${own})`]),
  ].map((head) => `(?=${head})`)
  // What has a format is without NUL.
  const tail = isLong ? fewBytes(character) : format === undefined ? `${character}*$` : ''
  const pattern = heads.join('') + tail
  return {
    ...keywords,
    ...(isLong ? { maxLength: Math.min(Number(maxLength), MAX_INDEXED_BYTES) } : {}),
    ...(pattern === '' ? {} : { pattern: `^${pattern}` }),
  }
}

/**
 * Text whose lower case a pattern can be told of: that of U+0130 is two characters, that of U+03A3 depends on what is
 * around it, and that of U+212A is a letter of ASCII, beside which a word has its edge.
 */
const LOWERED = '[^\\u0130\\u03a3\\u212a]*$'

/** Text without white space around it: what a pattern would find there is removed. */
const TRIMMED = '(?:\\S(?:[\\s\\S]*\\S)?)?$'

/** Text that keeps so many characters once the white space around it is gone. */
const trimmedFrom = (length: number): string =>
  length === 1 ? '\\s*\\S' : `\\s*\\S[\\s\\S]{${length - 2},}\\S`

/** JSON Schema counts characters, and an index bytes: up to four for each, and one in ASCII. */
const fewBytes = (character: string): string =>
  `(?:${character}{0,${MAX_INDEXED_BYTES / 4}}|[ -~]{0,${MAX_INDEXED_BYTES}})$`

/** A secret, which is nowhere shown. */
export const describeSecret = ({ maxBytes, ...keywords }: JsonSchema): JsonSchema => ({
  ...keywords,
  maxLength: Math.min(Number(keywords.maxLength ?? MAX_SECRET_BYTES), MAX_SECRET_BYTES),
  format: 'password',
  writeOnly: true,
})

/**
 * Any JSON that can be stored, by a reference to itself; 32 levels at most, which no schema can say. That all elements of
 * an array are such JSON is said without `items`: TypeScript takes no property whose type is an array of that very type.
 */
export const describeAny = (self: JsonSchema): JsonSchema => ({
  description: 'Any JSON, nested at most 32 levels deep.',
  anyOf: [
    { type: ['null', 'boolean'] },
    TEXT,
    describeNumber({ type: 'number' }),
    { type: 'array', items: {}, not: { contains: { not: self } } },
    {
      type: 'object',
      propertyNames: { pattern: '^(?!__proto__$)[^\\x00]*$' },
      additionalProperties: self,
    },
  ],
})
