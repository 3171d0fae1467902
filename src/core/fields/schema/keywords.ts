import { fullFormats } from 'ajv-formats/dist/formats.js'
import { countBytes } from '../../json/bytes.js'
import type { JsonSchema } from '../../json/json-schema.js'
import { isObject } from '../../json/own-properties.js'
import { isEmail } from '../email.js'
import { MAX_SECRET_BYTES } from '../types/hash.js'

/** The maximum bytes of a unique or indexed string, or of an element of an indexed array (CONTRACT.md §1). */
export const MAX_INDEXED_BYTES = 1024

/** A validation error without its path. */
export type Flaw = readonly [code: string, message: string]

/** Returns the error of a value; `undefined` if it has none. */
export type FindFlaw = (value: unknown) => Flaw | undefined

const TYPES: { readonly [type: string]: (value: unknown) => boolean } = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  number: Number.isFinite,
  integer: Number.isInteger,
  null: (value) => value === null,
}

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

function compileFormat(name: string): (text: string) => boolean {
  if (name === 'email') return isEmail
  const format = name === 'timestamp' ? TIMESTAMP : fullFormats[name as keyof typeof fullFormats]
  const validate = typeof format === 'object' && 'validate' in format ? format.validate : format
  if (validate instanceof RegExp) return (text) => validate.test(text)
  return validate as (text: string) => boolean
}

function countCodePoints(text: string): number {
  let points = 0
  for (let unit = 0; unit < text.length; points++) unit += (text.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1
  return points
}

/** Compiles the test of values that have the type of the schema. `wanted` is the value of the keyword. */
type CompileTest = (wanted: never) => (value: never) => boolean

/**
 * All keywords that the schemas of fields and envelopes contain. A value has only the error of the first keyword that
 * it violates.
 */
export const TESTS = {
  enum(allowed: readonly unknown[]) {
    const known = new Set(allowed)
    return (value: unknown) => known.has(value)
  },
  type: (type: string) => TYPES[type] ?? (() => false),
  maximum: (limit: number) => (value: number) => value <= limit,
  minimum: (limit: number) => (value: number) => value >= limit,
  maxLength: (limit: number) => (text: string) => text.length <= limit || countCodePoints(text) <= limit,
  minLength: (limit: number) => (text: string) => text.length >= 2 * limit || countCodePoints(text) >= limit,
  format: compileFormat,
  maxBytes: (limit: number) => (text: string) => text.length * 3 <= limit || countBytes(text) <= limit,
  notBefore: (bound: string) => (time: string) => time >= bound,
  notAfter: (bound: string) => (time: string) => time <= bound,
  maxItems: (limit: number) => (list: readonly unknown[]) => list.length <= limit,
  minItems: (limit: number) => (list: readonly unknown[]) => list.length >= limit,
} satisfies { readonly [keyword: string]: CompileTest }

const KEYWORDS = Object.keys(TESTS) as readonly (keyof typeof TESTS)[]

const count = (number: unknown, one: string): string => `${number} ${one}${number === 1 ? '' : 's'}`

/**
 * The error for each keyword. The message for `enum` does not list the values, because some writers may not read them.
 */
const FLAWS: { readonly [keyword in keyof typeof TESTS]: (wanted: unknown) => Flaw } = {
  enum: () => ['not_allowed', 'is not one of the allowed values'],
  type: (type) => ['wrong_type', `must be ${/^[aeiou]/.test(String(type)) ? 'an' : 'a'} ${type}`],
  maximum: (limit) => ['too_large', `must be at most ${limit}`],
  minimum: (limit) => ['too_small', `must be at least ${limit}`],
  maxLength: (limit) => ['too_long', `must have at most ${count(limit, 'character')}`],
  minLength: (limit) => ['too_short', `must have at least ${count(limit, 'character')}`],
  format: (format) => ['wrong_format', `must be a valid ${format}`],
  maxBytes: () => [
    'too_long',
    `is too long in UTF-8: a secret may have at most ${MAX_SECRET_BYTES} bytes, an indexed string at most ${MAX_INDEXED_BYTES}`,
  ],
  notBefore: () => ['too_small', 'is before the earliest time allowed'],
  notAfter: () => ['too_large', 'is after the latest time allowed'],
  maxItems: (limit) => ['too_many', `must have at most ${count(limit, 'element')}`],
  minItems: (limit) => ['too_few', `must have at least ${count(limit, 'element')}`],
}

/** Compiles the keywords of a schema. Any others, about the values inside, are checked by the caller. */
export function compileKeywords(schema: JsonSchema): FindFlaw {
  const { type, ...others } = schema
  // The type comes after `enum`, except for integers, and if there is no third keyword.
  const isTypeFirst = type === 'integer' || Object.keys(others).length === 1
  const checks = [...new Set([...(isTypeFirst ? (['type'] as const) : []), ...KEYWORDS])]
    .filter((keyword) => Object.hasOwn(schema, keyword))
    .map((keyword) => ({
      holds: TESTS[keyword](schema[keyword] as never),
      flaw: FLAWS[keyword](schema[keyword]),
    }))
  return (value) => {
    for (let i = 0; i < checks.length; i++) if (!checks[i]?.holds(value as never)) return checks[i]?.flaw
    return undefined
  }
}
