import { isDeepStrictEqual } from 'node:util'
import { fullFormats } from 'ajv-formats/dist/formats.js'

type Schema = { readonly [keyword: string]: unknown }

/** A judge of values: the pointer of the first place that is wrong, with its keyword; `undefined` for none. */
export type Judge = (schema: Schema, value: unknown) => string | undefined

type Test = (limit: never, value: never) => boolean

type Format = RegExp | ((value: string) => boolean) | Bounded | true
interface Bounded {
  readonly validate: RegExp | ((value: string) => boolean)
  readonly compare: (a: string, b: string) => number | undefined
}

/** Formats by name; that of RFC 6531 is the older one's over the same text with each letter outside ASCII as an `x`. */
const FORMATS: { readonly [name: string]: Format } = {
  ...(fullFormats as { readonly [name: string]: Format }),
  'idn-email': (value) => (fullFormats.email as RegExp).test(value.replace(/[^\0-\u007f]/gu, 'x')),
}

function hasFormat(format: string, value: string): boolean {
  const known = FORMATS[format]
  if (known === undefined) throw new Error(`there is no format ${format}`)
  if (known === true) return true
  const test = 'compare' in known ? known.validate : known
  return test instanceof RegExp ? test.test(value) : test(value)
}

/** How a time stands to a bound. */
const compareTimes = (a: string, b: string): number => (FORMATS['date-time'] as Bounded).compare(a, b) ?? 0

/** The keywords that look at one value alone, with the kind of values for which they mean something. */
const PLAIN: { readonly [keyword: string]: readonly [kind: string, test: Test] } = {
  const: ['any', (expected: unknown, value: unknown) => isDeepStrictEqual(value, expected)],
  enum: ['any', (allowed: readonly unknown[], value: unknown) => allowed.includes(value)],
  minimum: ['number', (limit: number, value: number) => value >= limit],
  maximum: ['number', (limit: number, value: number) => value <= limit],
  minLength: ['string', (limit: number, value: string) => [...value].length >= limit],
  maxLength: ['string', (limit: number, value: string) => [...value].length <= limit],
  pattern: ['string', (source: string, value: string) => regExpOf(source).test(value)],
  format: ['string', hasFormat],
  formatMinimum: ['string', (bound: string, value: string) => compareTimes(value, bound) >= 0],
  formatMaximum: ['string', (bound: string, value: string) => compareTimes(value, bound) <= 0],
  minItems: ['array', (limit: number, value: readonly unknown[]) => value.length >= limit],
  maxItems: ['array', (limit: number, value: readonly unknown[]) => value.length <= limit],
  uniqueItems: [
    'array',
    (isUnique: boolean, value: readonly unknown[]) =>
      !isUnique || new Set(value.map((one) => JSON.stringify(one))).size === value.length,
  ],
}

const regExps = new Map<string, RegExp>()

function regExpOf(source: string): RegExp {
  const known = regExps.get(source) ?? new RegExp(source, 'u')
  regExps.set(source, known)
  return known
}

const SILENT = new Set(['description', 'x-collection', 'writeOnly'])

const kindOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value

const hasType = (type: string, value: unknown): boolean =>
  type === 'integer' ? Number.isInteger(value) : type === kindOf(value)

/** Finds what references stand for in a document. */
export const findIn =
  (document: object) =>
  (ref: string): Schema => {
    let found: unknown = document
    for (const part of ref.slice(2).split('/'))
      found = (found as { readonly [name: string]: unknown })[
        part.replaceAll('~1', '/').replaceAll('~0', '~')
      ]
    return found as Schema
  }

/**
 * Creates a judge by schemas of an OpenAPI document; `find` gives what a reference stands for. It knows the keywords
 * that they have, and throws for any other. Nothing is compiled, because many services answer only a few requests.
 */
export function createJudge(find: (ref: string) => Schema): Judge {
  const judge: Judge = (schema, value) => {
    for (const [keyword, wanted] of Object.entries(schema)) {
      const fault = judgeKeyword(keyword, wanted, schema, value)
      if (fault !== undefined) return fault
    }
    return undefined
  }
  const judgeKeyword = (
    keyword: string,
    wanted: unknown,
    schema: Schema,
    value: unknown,
  ): string | undefined => {
    const plain = PLAIN[keyword]
    if (plain) {
      const [kind, test] = plain
      const isMeant = kind === 'any' || kind === kindOf(value)
      return !isMeant || test(wanted as never, value as never) ? undefined : `: ${keyword}`
    }
    switch (keyword) {
      case '$ref':
        return judge(find(String(wanted)), value)
      case 'type':
        return [wanted].flat().some((type) => hasType(String(type), value)) ? undefined : `: type ${wanted}`
      case 'anyOf': {
        const faults = (wanted as readonly Schema[]).map((one) => judge(one, value))
        return faults.includes(undefined) ? undefined : faults.join(' and ')
      }
      case 'allOf':
        return (wanted as readonly Schema[])
          .map((one) => judge(one, value))
          .find((fault) => fault !== undefined)
      case 'items': {
        if (!Array.isArray(value)) return undefined
        for (const [i, element] of value.entries()) {
          const fault = judge(wanted as Schema, element)
          if (fault !== undefined) return `/${i}${fault}`
        }
        return undefined
      }
      case 'contains':
        return !Array.isArray(value) || value.some((one) => judge(wanted as Schema, one) === undefined)
          ? undefined
          : ': contains'
      case 'required':
        return kindOf(value) !== 'object'
          ? undefined
          : (wanted as readonly string[])
              .filter((name) => !Object.hasOwn(value as object, name))
              .map((name) => `/${name}: required`)[0]
      case 'not':
        return judge(wanted as Schema, value) === undefined ? ': not' : undefined
      case 'propertyNames':
        return kindOf(value) !== 'object'
          ? undefined
          : Object.keys(value as object)
              .map((name) => judge(wanted as Schema, name))
              .find((fault) => fault !== undefined)
      case 'properties':
      case 'patternProperties':
        return judgeProperties(schema, value)
      case 'additionalProperties':
        return 'properties' in schema ? undefined : judgeProperties(schema, value)
      default:
        if (!SILENT.has(keyword)) throw new Error(`a schema has an unknown keyword: ${keyword}`)
        return undefined
    }
  }
  const judgeProperties = (
    { properties = {}, patternProperties = {}, additionalProperties = true }: Schema,
    value: unknown,
  ): string | undefined => {
    if (kindOf(value) !== 'object') return undefined
    const known = properties as { readonly [name: string]: Schema }
    const patterns = Object.entries(patternProperties as { readonly [source: string]: Schema })
    for (const [name, inner] of Object.entries(value as object)) {
      const fitting = patterns.filter(([source]) => regExpOf(source).test(name)).map(([, one]) => one)
      const own = Object.hasOwn(known, name) ? [known[name] as Schema, ...fitting] : fitting
      const rest = typeof additionalProperties === 'object' ? [additionalProperties as Schema] : []
      if (own.length === 0 && !additionalProperties) return `/${name}: not described`
      for (const one of own.length > 0 ? own : rest) {
        const fault = judge(one, inner)
        if (fault !== undefined) return `/${name}${fault}`
      }
    }
    return undefined
  }
  return judge
}
