import type { ConfigFault } from '../../errors.js'
import type { JsonSchema } from '../../json/json-schema.js'
import { isObject } from '../../json/own-properties.js'
import type { Violation } from '../../schema/json-schema.js'
import { suggest } from '../../schema/names.js'

type Describe = (violation: Required<Omit<Violation, 'isName'>>) => string

/** The message for each violated keyword: what is allowed, and which name is near. */
const DESCRIPTIONS: { readonly [keyword: string]: Describe } = {
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
  pattern: ({ params }) => `is not a name that can be used: it must match ${params.pattern}`,
  not: () => 'is a reserved name',
  uniqueItems: ({ params }) => `holds the same element twice, at ${params.j} and ${params.i}`,
  minItems: () => 'must not be empty',
  minProperties: () => 'must not be empty',
  minLength: () => 'must not be empty',
  minimum: ({ params, found }) => `must be at least ${params.limit}, found ${show(found)}`,
  maximum: ({ params, found }) => `must be at most ${params.limit}, found ${show(found)}`,
  exclusiveMinimum: ({ params, found }) => `must be more than ${params.limit}, found ${show(found)}`,
  'false schema': () => 'cannot stand beside the plain form of pick and omit',
}

/** How it is written here, for those who know it from elsewhere: by the place, and what was found there. */
const HINTS: readonly (readonly [place: RegExp, hint: (found: unknown) => string | undefined])[] = [
  [/^\/(?:fields|properties)$/, () => 'fields stand in "schema"'],
  [/^\/schema\/type$/, () => 'fields stand in "schema" itself, without "type" and "properties" around them'],
  [/^\/schema\/required$/, () => 'each field says so itself: { "type": "string", "required": true }'],
  [
    /^\/schema\//,
    (found) => (typeof found === 'string' ? `a field is written { "type": ${show(found)} }` : undefined),
  ],
  [
    /^\/permissions\/(?:create|read|update|delete)(?:\/[^/]*)?$/,
    () => 'the role comes first: { "*": { "read": true } }',
  ],
]

/** Violations that show that somebody had another form in mind. */
const OF_ANOTHER_FORM: readonly string[] = ['type', 'additionalProperties']

function findHint({ path, keyword, params, found }: Violation): string {
  const [, place] = /^\/collections\/[^/]+(\/.*)$/.exec(path) ?? []
  const isMeant = keyword !== 'type' || [params.type].flat().includes('object')
  if (place === undefined || !isMeant || !OF_ANOTHER_FORM.includes(keyword)) return ''
  const hints = HINTS.flatMap(([at, hint]) => (at.test(place) ? (hint(found) ?? []) : []))
  return hints
    .slice(0, 1)
    .map((hint) => ` (${hint})`)
    .join('')
}

/** Describes a violation of the configuration's schema in words. */
export function describeViolation(violation: Violation): ConfigFault {
  const { path, keyword, params, found, schema = {} } = violation
  const message = DESCRIPTIONS[keyword]?.({ path, keyword, params, found, schema }) ?? `violates ${keyword}`
  return { path, message: message + findHint(violation) }
}

const show = (value: unknown): string => JSON.stringify(value)?.slice(0, 60) ?? String(value)

const list = (values: unknown): string => (Array.isArray(values) ? values.map(show).join(', ') : show(values))

function typesOf(schema: JsonSchema): readonly string[] {
  const alternatives = schema.oneOf as readonly {
    readonly properties: { readonly type: { readonly const: string } }
  }[]
  return alternatives.map(({ properties }) => properties.type.const)
}
