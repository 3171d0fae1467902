import type { ConfigFault } from '../../errors.js'
import { compileJsonSchema, type Violation } from '../../fields/schema/json-schema.js'
import { findNearest, suggest } from '../../fields/schema/names.js'
import { satisfiesSchema } from '../../fields/schema/satisfies-schema.js'
import { copyJson } from '../../json/copy-json.js'
import type { JsonSchema } from '../../json/json-schema.js'
import { isObject } from '../../json/own-properties.js'
import { toPointerPart } from '../../json/pointer.js'
import { type ConfigReport, reportTo } from '../../json/report.js'
import type { Config } from '../../types.js'
import { CONFIG_SCHEMA } from './config-schema.js'
import { settleShape } from './settle-shape.js'

type DescribeViolation = (violation: Omit<Violation, 'isName'>) => string

/** The message for each violated keyword. It names the allowed values or the most similar name. */
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
  uniqueItems: ({ params }) => `contains the same element twice, at the indexes ${params.j} and ${params.i}`,
  minItems: () => 'must not be empty',
  maxItems: ({ params, found }) =>
    `must have at most ${params.limit} elements, found ${Array.isArray(found) ? found.length : 0}`,
  minProperties: () => 'must not be empty',
  minLength: () => 'must not be empty',
  minimum: ({ params, found }) => `must be at least ${params.limit}, found ${show(found)}`,
  maximum: ({ params, found }) => `must be at most ${params.limit}, found ${show(found)}`,
  exclusiveMinimum: ({ params, found }) => `must be more than ${params.limit}, found ${show(found)}`,
  'false schema': () => 'cannot be combined with pick and omit of the whole grant: move these into the rules',
}

/** Hints for authors who use the syntax of other tools: a location, and the hint for the value found there. */
const HINTS: readonly (readonly [place: RegExp, hint: (found: unknown) => string])[] = [
  [/^\/(?:fields|properties|schema\/type)$/, () => 'define fields directly in "schema"'],
  [/^\/schema\/required$/, () => 'put "required": true in each field'],
  [/^\/schema\//, (found) => (typeof found === 'string' ? `write { "type": ${show(found)} }` : '')],
  [
    /^\/permissions\/(?:create|read|update|delete)(?:\/[^/]*)?$/,
    () => 'the role comes first: { "*": { "read": true } }',
  ],
  [
    /^\/permissions\/[^/]+$/,
    (found) =>
      Array.isArray(found) ? 'several rules belong to one operation: { "update": [{ … }, { … }] }' : '',
  ],
]

/** Returns a hint about the form that the author probably intended, or an empty string. */
function hintAt({ path, keyword, params, found }: Violation): string {
  const [, place] = /^\/collections\/[^/]+(\/.*)$/.exec(path) ?? []
  const isForm =
    keyword === 'type' ? [params.type].flat().includes('object') : keyword === 'additionalProperties'
  const hint = isForm && place !== undefined && HINTS.find(([at]) => at.test(place))?.[1](found)
  return hint ? ` (${hint})` : ''
}

/** Describes a violation of the configuration's schema as a fault. */
function describeViolation(violation: Violation): ConfigFault {
  const { path, keyword, params, found, schema } = violation
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

/** Whether the value at a JSON pointer, or a value around it, has a fault, so that its meaning is unknown. */
export type IsUnsure = (pointer: string) => boolean

let compiled: ((value: unknown) => readonly Violation[]) | undefined

/**
 * Returns the violations of the configuration's schema. Most configurations are valid, so the schema is only
 * compiled for an invalid one. Returns `undefined` if the runtime forbids that, because ajv generates code.
 */
function findViolations(copied: unknown): readonly Violation[] | undefined {
  if (satisfiesSchema(CONFIG_SCHEMA, copied)) return []
  try {
    compiled ??= compileJsonSchema(CONFIG_SCHEMA)
  } catch (thrown) {
    if (thrown instanceof EvalError) return undefined
    throw thrown
  }
  return compiled(copied)
}

/** The fault of an invalid configuration whose violations cannot be found here. */
const UNNAMED: ConfigFault = {
  path: '',
  message:
    'is not valid, and this runtime cannot say where, because it forbids generated code: run npx collection-service check',
}

/**
 * The keywords whose violation leaves a value usable, because the fault is in its name or in a neighbouring
 * value.
 */
const KEPT: readonly string[] = ['false schema', 'uniqueItems']

interface CheckedShape {
  readonly faults: readonly ConfigFault[]
  readonly config: Partial<Config>
  readonly isUnsure: IsUnsure
}

/**
 * Whether a pointer leads into a rule or a claim. Ignoring one of its conditions would grant more than
 * intended.
 */
const isOfRule = (pointer: string): boolean =>
  /^\/(?:collections\/[^/]+\/permissions|auth\/claims)\//.test(pointer)

/**
 * Returns a frozen copy of a configuration, without properties that are `undefined`. Anything but plain JSON is a fault.
 */
export const copyConfig = (input: unknown, report: ConfigReport): unknown => copyJson(input, report, isOfRule)

/**
 * Copies a configuration and checks its shape. Returns the faults and the parts that can still be compiled.
 */
export function checkShape(input: unknown): CheckedShape {
  const unreadable: ConfigFault[] = []
  const copied = copyConfig(input, reportTo(unreadable))
  const found = findViolations(copied)
  if (!found) return { faults: [...unreadable, UNNAMED], config: {}, isUnsure: () => true }
  const violations = found.filter((violation) => !isOfCopy(violation, unreadable))

  const misshapen = new Set([
    ...unreadable.map(({ path }) => path),
    ...violations.flatMap(({ isName, keyword, path }) => (isName || KEPT.includes(keyword) ? [] : [path])),
  ])
  const unsure = new Set([...misshapen, ...violations.flatMap(findMeant)])
  return {
    faults: [...unreadable, ...violations.map(describeViolation)],
    config: settleShape(copied, misshapen),
    isUnsure: (pointer) => outwards(pointer).some((outer) => unsure.has(outer)),
  }
}

/** Whether a violation only follows from a value that could not be copied. That value is already reported. */
function isOfCopy({ path, keyword, isName }: Violation, unreadable: readonly ConfigFault[]): boolean {
  const outer = outwards(path)
  return unreadable.some((fault) => {
    if (fault.path === path) return !isName && keyword !== 'additionalProperties'
    return outer.includes(fault.path) || (keyword === 'uniqueItems' && outwards(fault.path)[1] === path)
  })
}

/** Returns the pointer of the attribute that an unknown name probably misspells. */
function findMeant({ keyword, params, path, found, schema }: Violation): readonly string[] {
  if (keyword !== 'additionalProperties' || !isObject(found) || !isObject(schema.properties)) return []
  const missing = Object.keys(schema.properties).filter((name) => !Object.hasOwn(found, name))
  const nearest = findNearest(String(params.additionalProperty), missing)
  return nearest === undefined ? [] : [path.slice(0, path.lastIndexOf('/')) + toPointerPart(nearest)]
}

/** Returns a pointer and the pointers of all values around it. The pointer of the root is the last. */
function outwards(pointer: string): readonly string[] {
  const parts = pointer.split('/')
  return parts.map((_, i) => parts.slice(0, parts.length - i).join('/'))
}
