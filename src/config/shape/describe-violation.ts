import type { ConfigFault } from '../../errors.js'
import type { JsonSchema } from '../../json/json-schema.js'
import { isObject } from '../../json/own-properties.js'
import type { Violation } from '../../schema/json-schema.js'
import { suggest } from '../../schema/names.js'

type DescribeViolation = (violation: Required<Omit<Violation, 'isName'>>) => string

/** The message for each violated keyword: the allowed values, and the nearest name. */
const DESCRIPTIONS: { readonly [keyword: string]: DescribeViolation } = {
  required: () => 'is required',
  additionalProperties: ({ params, schema }) => {
    const known = Object.keys(isObject(schema.properties) ? schema.properties : {})
    return `is unknown${suggest(String(params.additionalProperty), known) || ';'} allowed: ${known.join(', ')}`
  },
  type: ({ params, found }) => `must be ${[params.type].flat().join(' or ')}, found ${show(found)}`,
  enum: ({ schema, found }) => `must be one of ${list(schema.enum)}, found ${show(found)}`,
  const: ({ params, found }) => `must be ${show(params.allowedValue)} here, found ${show(found)}`,
  discriminator: ({ params, schema }) => {
    const types = typesOf(schema)
    if (params.tagValue === undefined) return `is required: one of ${types.join(', ')}`
    return `must be one of ${types.join(', ')}, found ${show(params.tagValue)}${suggest(String(params.tagValue), types)}`
  },
  pattern: ({ params }) => `is not a valid name: it must match ${params.pattern}`,
  not: () => 'is a reserved name',
  uniqueItems: ({ params }) => `holds the same element twice, at ${params.j} and ${params.i}`,
  minItems: () => 'must not be empty',
  minProperties: () => 'must not be empty',
  minLength: () => 'must not be empty',
  minimum: ({ params, found }) => `must be at least ${params.limit}, found ${show(found)}`,
  maximum: ({ params, found }) => `must be at most ${params.limit}, found ${show(found)}`,
  exclusiveMinimum: ({ params, found }) => `must be more than ${params.limit}, found ${show(found)}`,
  'false schema': () => 'cannot be combined with the plain form of pick and omit',
}

/** Hints for authors who use the syntax of other tools, by the place and the value found there. */
const HINTS: readonly (readonly [place: RegExp, hint: (found: unknown) => string])[] = [
  [/^\/(?:fields|properties|schema\/type)$/, () => 'define fields directly in "schema"'],
  [/^\/schema\/required$/, () => 'put "required": true in each field'],
  [/^\/schema\//, (found) => (typeof found === 'string' ? `write { "type": ${show(found)} }` : '')],
  [
    /^\/permissions\/(?:create|read|update|delete)(?:\/[^/]*)?$/,
    () => 'the role comes first: { "*": { "read": true } }',
  ],
]

/** A hint at the intended form. */
function hintAt({ path, keyword, params, found }: Violation): string {
  const [, place] = /^\/collections\/[^/]+(\/.*)$/.exec(path) ?? []
  const isForm =
    keyword === 'type' ? [params.type].flat().includes('object') : keyword === 'additionalProperties'
  const hint = isForm && place !== undefined && HINTS.find(([at]) => at.test(place))?.[1](found)
  return hint ? ` (${hint})` : ''
}

/** Describes a violation of the configuration's schema in words. */
export function describeViolation(violation: Violation): ConfigFault {
  const { path, keyword, params, found, schema = {} } = violation
  const message = DESCRIPTIONS[keyword]?.({ path, keyword, params, found, schema }) ?? `violates ${keyword}`
  return { path, message: message + hintAt(violation) }
}

const show = (value: unknown): string => JSON.stringify(value)?.slice(0, 60) ?? String(value)

const list = (values: unknown): string => (Array.isArray(values) ? values.map(show).join(', ') : show(values))

function typesOf(schema: JsonSchema): readonly string[] {
  const alternatives = schema.oneOf as readonly {
    readonly properties: { readonly type: { readonly const: string } }
  }[]
  return alternatives.map(({ properties }) => properties.type.const)
}
