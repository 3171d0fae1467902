import type { Field } from '../../../core/fields/field-type.js'
import { holdsImmutable } from '../../../core/fields/schema/changes.js'
import { MAX_INDEXED_BYTES } from '../../../core/fields/schema/keywords.js'
import { MAX_SECRET_BYTES } from '../../../core/fields/types/hash.js'
import { invertRanges, LAST, type Range } from '../../../core/filter/pattern/syntax/code-points.js'
import { unlowerRanges } from '../../../core/filter/pattern/syntax/letter-case.js'
import type { Pattern } from '../../../core/filter/pattern/syntax/pattern.js'
import {
  JAVASCRIPT,
  type PatternDialect,
  printPattern,
} from '../../../core/filter/pattern/syntax/print-pattern.js'
import { readSyntax } from '../../../core/filter/pattern/syntax/read-syntax.js'
import type { JsonSchema } from '../../../core/json/json-schema.js'

/** Any string that can be stored. */
export const TEXT: JsonSchema = { type: 'string', pattern: '^[^\\x00]*$' }

/** The largest absolute value of a stored integer. */
const MOST = Number.MAX_SAFE_INTEGER

/** Describes a number that can be stored. The bounds of `keywords` apply if they are narrower than those of storage. */
export const describeNumber = ({ minimum = -MOST, maximum = MOST, ...keywords }: JsonSchema): JsonSchema =>
  'enum' in keywords
    ? keywords
    : {
        ...keywords,
        minimum: Math.max(Number(minimum), -MOST),
        maximum: Math.min(Number(maximum), MOST),
      }

// Excludes leap seconds, the year 0, and times that their time zone would move out of the years 0001 to 9999.
const TIME =
  '^(?!0000|(?:0001-01-01|9999-12-31).*[+-]\\d\\d:)\\d{4}-\\d\\d-\\d\\d(?:[Tt]\\d\\d:\\d\\d:[0-5]\\d(?:\\.\\d+)?(?:[Zz]|[+-]\\d\\d:\\d\\d))?$'

/**
 * Describes a time as a client may write it. Each branch has its own type and pattern, because code generators read a
 * branch by itself. JSON Schema has no bounds for times; `formatMinimum` and `formatMaximum` are keywords of ajv, which
 * other tools ignore.
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

/** Adds `null` to the allowed values of a schema. If the schema consists of branches, `null` becomes a branch too. */
export function orNull(schema: JsonSchema): JsonSchema {
  const { anyOf, ...others } = schema
  const isBranched = Array.isArray(anyOf) && Object.keys(others).length === 0
  return { anyOf: [...(isBranched ? anyOf : [schema]), { type: 'null' }] }
}

/** How the service normalises a string before it checks it. */
interface Normalised {
  readonly trim?: boolean | undefined
  readonly lowercase?: boolean | undefined
}

/**
 * Describes a string as a client may write it, before the service normalises it. The checks apply to the normalised
 * string, so they are translated. They are combined in one pattern next to the type, because code generators ignore
 * `allOf`, and branches without a type.
 */
function describeText(
  { maxBytes, ...keywords }: JsonSchema,
  own: string | undefined,
  { trim, lowercase }: Normalised,
): JsonSchema {
  const { minLength, maxLength = Number.POSITIVE_INFINITY, format } = keywords
  const isLong = maxBytes !== undefined && Number(maxLength) > MAX_INDEXED_BYTES / 4
  const isLimited = Number.isFinite(maxLength) || isLong
  // U+0130 is the only character that becomes longer in lower case, so it is excluded if the length is limited.
  const character = lowercase && isLimited ? '[^\\x00\\u0130]' : '[^\\x00]'
  const heads = [
    ...(trim && typeof minLength === 'number' && minLength > 0 ? [trimmedFrom(minLength)] : []),
    ...(own === undefined
      ? []
      : [...(lowercase ? [LOWERED] : []), ...(trim ? [TRIMMED] : []), `[\\s\\S]*?(?:${own})`]),
  ].map((head) => `(?=${head})`)
  // Text with a format needs no pattern against NUL, because every format excludes NUL.
  const tail = isLong ? fewBytes(character) : format === undefined ? `${character}*$` : ''
  const pattern = heads.join('') + tail
  return {
    ...keywords,
    ...(isLong ? { maxLength: Math.min(Number(maxLength), MAX_INDEXED_BYTES) } : {}),
    ...(pattern === '' ? {} : { pattern: `^${pattern}` }),
  }
}

/**
 * Matches text whose lower case a pattern can express. It excludes three characters: U+0130 becomes two characters,
 * U+03A3 depends on the characters around it, and U+212A becomes an ASCII letter, which `\b` counts as part of a word.
 */
const LOWERED = '[^\\u0130\\u03a3\\u212a]*$'

/** Matches text without surrounding white space, which the service would remove before it checks the pattern. */
const TRIMMED = '(?:\\S(?:[\\s\\S]*\\S)?)?$'

/** Matches text that has at least `length` characters without its surrounding white space. */
const trimmedFrom = (length: number): string =>
  length === 1 ? '\\s*\\S' : `\\s*\\S[\\s\\S]{${length - 2},}\\S`

/**
 * Matches text that fits into an index. An index limits bytes, but JSON Schema counts characters: ASCII characters have
 * one byte, others up to four.
 */
const fewBytes = (character: string): string =>
  `(?:${character}{0,${MAX_INDEXED_BYTES / 4}}|[ -~]{0,${MAX_INDEXED_BYTES}})$`

/** Describes a secret, which no response contains. */
const describeSecret = ({ maxBytes, ...keywords }: JsonSchema): JsonSchema => ({
  ...keywords,
  maxLength: Math.min(Number(keywords.maxLength ?? MAX_SECRET_BYTES), MAX_SECRET_BYTES),
  format: 'password',
  writeOnly: true,
})

/**
 * Describes any JSON value that can be stored, by a reference to itself. The limit of 32 levels cannot be expressed.
 * Arrays are described without `items`, because TypeScript rejects a property whose type is an array of itself.
 */
export const describeAny = (self: JsonSchema): JsonSchema => ({
  description: 'Any JSON value, nested at most 32 levels deep.',
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

/** ASCII characters that have no special meaning anywhere in a regular expression. */
const PLAIN = /^[A-Za-z0-9 _!"#%&',/:;<=>@`~]$/

function printPoint(point: number): string {
  const character = String.fromCodePoint(point)
  if (PLAIN.test(character)) return character
  const hex = point.toString(16)
  if (point <= 0xff) return `\\x${hex.padStart(2, '0')}`
  return point <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`
}

const printRanges = (ranges: readonly Range[]): string =>
  ranges
    .map(([first, last]) => (first === last ? printPoint(first) : `${printPoint(first)}-${printPoint(last)}`))
    .join('')

/** The syntax of regular expressions in JSON Schema: ECMAScript with Unicode. */
const ECMA: PatternDialect = {
  ...JAVASCRIPT,
  codePoint: printPoint,
  // If a set reaches the end of Unicode, its complement is shorter and easier to read.
  set: (ranges) =>
    ranges.at(-1)?.[1] === LAST ? `[^${printRanges(invertRanges(ranges))}]` : `[${printRanges(ranges)}]`,
}

/** Prints a portable pattern in the syntax of JSON Schema. */
const printEcma = (pattern: Pattern): string => printPattern(pattern, ECMA)

/**
 * The use of a value.
 * - `answer`: part of a document in a response.
 * - `create`: part of a new document, whose missing fields get their defaults.
 * - `replace`: the same as `create`, without immutable fields.
 * - `element`: a complete value that gets no defaults.
 * - `patch`: part of a merge patch.
 */
export type SchemaUse = 'answer' | 'create' | 'replace' | 'element' | 'patch'

/** The options for describing values. */
export interface ValueOptions {
  readonly use: SchemaUse
  /** Returns the schema of any JSON value in a body. */
  readonly describeAny: () => JsonSchema
  /** Returns the schema of a reference field. */
  readonly describeReference: (field: Field) => JsonSchema
  /** The paths whose values are limited in length because they have an index. */
  readonly indexed: ReadonlySet<string>
}

/** Describes the values of a field as JSON Schema, with the keywords of the configuration. */
export function describeValue(field: Field, options: ValueOptions): JsonSchema {
  const { definition, type } = field
  const { use } = options
  const schema = describeType(field, options)
  const isRemovable = use === 'patch' ? definition.required !== true : definition.nullable === true
  // An object with immutable fields cannot be removed.
  const isKept = isUpdate(use) && holdsImmutable(field)
  const isNullable = isRemovable && !isKept && use !== 'answer' && type !== 'json'
  const described = isNullable ? orNull(schema) : schema
  const texts = [definition.description, fillsDefaults(use) && !isKept ? tellDefault(field) : undefined]
  const description = texts.filter((text) => text !== undefined).join(' ')
  return description === '' ? described : { description, ...described }
}

/** Describes the default in words, because some code generators require a field that has the keyword `default`. */
const tellDefault = ({ definition }: Field): string | undefined =>
  'default' in definition && definition.default !== undefined
    ? `Default: ${JSON.stringify(definition.default)}.`
    : undefined

const fillsDefaults = (use: SchemaUse): boolean => use === 'create' || use === 'replace'

function describeType(field: Field, options: ValueOptions): JsonSchema {
  const { fieldType, definition, items, path } = field
  const { use, indexed, describeReference, describeAny } = options
  const { format, ...plain } = fieldType.bodySchema(field)
  // JSON Schema has a separate format for email addresses that contain letters outside ASCII.
  const keywords: JsonSchema =
    format === undefined ? plain : { ...plain, format: format === 'email' ? 'idn-email' : format }
  const isAnswer = use === 'answer'
  const { valueType } = fieldType
  switch (valueType) {
    case null:
      return describeSecret(keywords)
    case 'string': {
      if (definition.type === 'reference') return describeReference(field)
      // The values of an `enum` are normalised already.
      if ('enum' in keywords) return keywords
      const source = fieldType.patternOf?.(definition)
      const isLowered = !isAnswer && 'lowercase' in definition && definition.lowercase
      const own =
        source === undefined
          ? undefined
          : printEcma(readSyntax(source, isLowered ? unlowerRanges : undefined))
      if (isAnswer) return own === undefined ? keywords : { ...keywords, pattern: own }
      const limit = indexed.has(path) && fieldType.isScalar && fieldType.isUnbounded ? { maxBytes: true } : {}
      return describeText({ ...keywords, ...limit }, own, definition.type === 'string' ? definition : {})
    }
    case 'timestamp':
      return isAnswer ? { type: 'string', format: 'date-time' } : describeTime(keywords)
    case 'number':
    case 'integer':
      return isAnswer ? keywords : describeNumber(keywords)
    case 'boolean':
      return keywords
    case 'json':
      if (isAnswer) return {}
      // In a patch, `null` removes the field.
      return use === 'patch' && definition.required
        ? { allOf: [describeAny(), { not: { type: 'null' } }] }
        : describeAny()
    case 'array': {
      // A patch replaces an array as a whole, so its elements must be complete.
      const inside: SchemaUse = use === 'patch' ? 'element' : use
      return items ? { ...keywords, items: describeValue(items, { ...options, use: inside }) } : keywords
    }
    case 'object':
      return describeObject(field.properties, options)
    default:
      return valueType satisfies never
  }
}

/** Describes an object inside a document. The object must be complete if the write may create it. */
function describeObject(fields: readonly Field[], options: ValueOptions): JsonSchema {
  const { use } = options
  const named = isUpdate(use) ? fields.filter(({ definition }) => !definition.immutable) : fields
  const required = named.filter((field) => isNeeded(field, use)).map(({ name }) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(named.map((field) => [field.name, describeValue(field, options)])),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  }
}

const isUpdate = (use: SchemaUse): boolean => use === 'replace' || use === 'patch'

/** Whether a write is invalid if it lacks the field. */
export function isNeeded(field: Field, use: SchemaUse): boolean {
  const { definition, defaultAt, properties } = field
  // A PUT keeps the immutable fields that its body lacks. So an object with immutable fields is not new, and gets no
  // defaults.
  const isKept = use === 'replace' && definition.immutable !== true && holdsImmutable(field)
  const isFilled = fillsDefaults(use) && !isKept && defaultAt(SOME_TIME) !== undefined
  if (definition.required === true) return use !== 'answer' && !isFilled
  return isKept && properties.some((one) => !one.definition.immutable && isNeeded(one, use))
}

const SOME_TIME = '2000-01-01T00:00:00.000Z'
