import { MAX_INDEXED_BYTES } from '../../fields/object-schema.js'
import { MAX_SECRET_BYTES } from '../../fields/types/hash.js'
import type { JsonSchema } from '../../json/json-schema.js'

/** Any text that can be stored. */
export const TEXT: JsonSchema = { type: 'string', pattern: '^[^\\x00]*$' }

/** The largest absolute value of a stored integer. */
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

// No leap second, no year 0, and no time that its zone would move out of the years 0001 to 9999.
const TIME =
  '^(?!0000|(?:0001-01-01|9999-12-31).*[+-]\\d\\d:)\\d{4}-\\d\\d-\\d\\d(?:[Tt]\\d\\d:\\d\\d:[0-5]\\d(?:\\.\\d+)?(?:[Zz]|[+-]\\d\\d:\\d\\d))?$'

/**
 * A time as a client may write it, with type and pattern in each branch: generators read a branch by itself. JSON
 * Schema has no bounds for times; `formatMinimum` and `formatMaximum` are those of ajv, which other tools ignore.
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

/** The values of a schema, or `null`: one more branch if the schema consists of branches. */
export function orNull(schema: JsonSchema): JsonSchema {
  const { anyOf, ...others } = schema
  const isBranched = Array.isArray(anyOf) && Object.keys(others).length === 0
  return { anyOf: [...(isBranched ? anyOf : [schema]), { type: 'null' }] }
}

/** How a text is normalised before it is checked. */
interface Normalised {
  readonly trim?: boolean | undefined
  readonly lowercase?: boolean | undefined
}

/**
 * Text as a client may write it: checks that apply after normalisation are translated to the text before it. All of
 * them are in one pattern beside the type: generators ignore `allOf`, and branches without a type.
 */
export function describeText(
  { maxBytes, ...keywords }: JsonSchema,
  own: string | undefined,
  { trim, lowercase }: Normalised,
): JsonSchema {
  const { minLength, maxLength = Number.POSITIVE_INFINITY, format } = keywords
  const isLong = maxBytes !== undefined && Number(maxLength) > MAX_INDEXED_BYTES / 4
  const isLimited = Number.isFinite(maxLength) || isLong
  // U+0130 is the only character that becomes longer in lower case.
  const character = lowercase && isLimited ? '[^\\x00\\u0130]' : '[^\\x00]'
  const heads = [
    ...(trim && typeof minLength === 'number' && minLength > 0 ? [trimmedFrom(minLength)] : []),
    ...(own === undefined
      ? []
      : [...(lowercase ? [LOWERED] : []), ...(trim ? [TRIMMED] : []), `[\\s\\S]*?(?:${own})`]),
  ].map((head) => `(?=${head})`)
  // Every format excludes NUL.
  const tail = isLong ? fewBytes(character) : format === undefined ? `${character}*$` : ''
  const pattern = heads.join('') + tail
  return {
    ...keywords,
    ...(isLong ? { maxLength: Math.min(Number(maxLength), MAX_INDEXED_BYTES) } : {}),
    ...(pattern === '' ? {} : { pattern: `^${pattern}` }),
  }
}

/**
 * Text whose lower case a pattern can express: that of U+0130 is two characters, that of U+03A3 depends on the
 * characters around it, and that of U+212A is a letter of ASCII, which `\b` counts as part of a word.
 */
const LOWERED = '[^\\u0130\\u03a3\\u212a]*$'

/** Text without white space around it, which would be removed before the pattern is checked. */
const TRIMMED = '(?:\\S(?:[\\s\\S]*\\S)?)?$'

/** Text that has at least `length` characters without the white space around it. */
const trimmedFrom = (length: number): string =>
  length === 1 ? '\\s*\\S' : `\\s*\\S[\\s\\S]{${length - 2},}\\S`

/** JSON Schema counts characters, an index counts bytes: up to four for each character, and one in ASCII. */
const fewBytes = (character: string): string =>
  `(?:${character}{0,${MAX_INDEXED_BYTES / 4}}|[ -~]{0,${MAX_INDEXED_BYTES}})$`

/** A secret, which no response contains. */
export const describeSecret = ({ maxBytes, ...keywords }: JsonSchema): JsonSchema => ({
  ...keywords,
  maxLength: Math.min(Number(keywords.maxLength ?? MAX_SECRET_BYTES), MAX_SECRET_BYTES),
  format: 'password',
  writeOnly: true,
})

/**
 * Any JSON that can be stored, by a reference to itself; the limit of 32 levels cannot be expressed. Arrays are
 * described without `items`: TypeScript rejects a property whose type is an array of that very type.
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
