import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import { compilePattern } from '../../filter/pattern/compile-pattern.js'
import { parsePattern } from '../../filter/pattern/parse-pattern.js'
import type { JsonSchema } from '../../json/json-schema.js'
import { toPointerPart } from '../../json/pointer.js'
import { createBoundedMap } from '../../kept/bounded-map.js'
import { CACHES } from '../../kept/caches.js'
import { isEmail } from '../email.js'
import { STRING_FORMATS } from '../types/string.js'

/** One violated keyword. `path` is the JSON pointer of the invalid property. */
export interface Violation {
  readonly path: string
  readonly keyword: string
  /** The parameters of the keyword. They never contain the value. */
  readonly params: { readonly [name: string]: unknown }
  /** Whether the name of the property is invalid, instead of its value. */
  readonly isName?: boolean
  /** The invalid value, and the schema that it violates. Only for configurations, because they contain no secrets. */
  readonly found?: unknown
  readonly schema?: JsonSchema
}

const encoder = new TextEncoder()

/** Returns the length of a string in bytes of UTF-8. */
export const countBytes = (text: string): number => encoder.encode(text).length

function createAjv(verbose: boolean): Ajv {
  // Patterns run on our own engine, in linear time. ajv identifies a compiled pattern by its `toString`.
  const regExp = Object.assign(
    (source: string) => ({
      test: compilePattern(parsePattern(source, { ignoreCase: false })).test,
      toString: () => source,
    }),
    { code: 'portablePattern' },
  )
  const ajv = new Ajv({
    allErrors: true,
    verbose,
    // With this setting, ajv compiles each referenced schema only once.
    inlineRefs: false,
    // Otherwise every object would satisfy `required: ["toString"]`.
    ownProperties: true,
    allowUnionTypes: true,
    strictTypes: true,
    discriminator: true,
    // We wrote the schemas; checking them against the meta-schema takes longer than compiling them.
    meta: false,
    validateSchema: false,
    logger: false,
    // A configuration is checked only once, so optimizing the generated code would take longer than it saves.
    code: { regExp, optimize: !verbose },
  })
  addFormats.default(ajv, [...STRING_FORMATS])
  ajv.addFormat('email', isEmail)
  ajv.addFormat('timestamp', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  // ajv's own `enum` compares a value with each member one by one, which is slow for many values and long
  // lists.
  ajv.removeKeyword('enum')
  ajv.addKeyword({
    keyword: 'enum',
    schemaType: 'array',
    compile(allowed: readonly unknown[]) {
      const known = new Set(allowed)
      return (value: unknown) => known.has(value)
    },
  })
  ajv.addKeyword({
    keyword: 'maxBytes',
    type: 'string',
    schemaType: 'number',
    validate: (limit: number, value: string) => value.length * 3 <= limit || countBytes(value) <= limit,
  })
  ajv.addKeyword({
    keyword: 'notBefore',
    type: 'string',
    schemaType: 'string',
    validate: (bound: string, value: string) => value >= bound,
  })
  ajv.addKeyword({
    keyword: 'notAfter',
    type: 'string',
    schemaType: 'string',
    validate: (bound: string, value: string) => value <= bound,
  })
  return ajv
}

const shared: { quiet?: Ajv; verbose?: Ajv } = {}

type FindViolations = (value: unknown) => readonly Violation[]

/** The maximum size of the cache of compiled schemas, in UTF-16 units of their JSON. */
const MAX_KEPT = 256 * 1024

/** Compiled schemas by their JSON. Collections and services of one process often share schemas. */
const kept = createBoundedMap<string, { readonly find: FindViolations; readonly length: number }>(
  CACHES.schemas,
  MAX_KEPT,
  ({ length }) => length,
)

/**
 * Compiles a JSON Schema to a function that returns the violations: for each path, only the first one of the
 * value and the first one of the name. Compiling takes milliseconds the first time. With `verbose`, a
 * violation contains the invalid value.
 */
export function compileJsonSchema(schema: JsonSchema, { verbose = false } = {}): FindViolations {
  const kind = verbose ? 'verbose' : 'quiet'
  const key = `${kind} ${JSON.stringify(schema)}`
  const known = kept.get(key)
  if (known) return known.find
  shared[kind] ??= createAjv(verbose)
  const find = compileWith(shared[kind], schema)
  kept.set(key, { find, length: key.length })
  return find
}

function compileWith(ajv: Ajv, schema: JsonSchema): FindViolations {
  const validate: ValidateFunction = ajv.compile(schema)
  // Otherwise ajv would cache every schema that it ever compiled.
  ajv.removeSchema(schema)
  return (value) => {
    if (validate(value)) return NONE
    const byPath = new Map<string, Violation>()
    for (const error of validate.errors ?? []) {
      // An error of these two keywords only repeats an error inside them, which has its own entry.
      if (error.keyword === 'if' || error.keyword === 'propertyNames') continue
      const violation = toViolation(error)
      const key = `${violation.isName ? 'name' : 'value'} ${violation.path}`
      if (!byPath.has(key)) byPath.set(key, violation)
    }
    return [...byPath.values()]
  }
}

const NONE: readonly Violation[] = []

function toViolation({
  instancePath,
  keyword,
  params,
  propertyName,
  parentSchema,
  data,
}: ErrorObject): Violation {
  const name =
    params.missingProperty ?? params.additionalProperty ?? propertyName ?? params.propertyName ?? params.tag
  const path = typeof name === 'string' ? instancePath + toPointerPart(name) : instancePath
  return {
    path,
    keyword,
    params,
    ...(propertyName === undefined ? {} : { isName: true }),
    ...(parentSchema ? { found: data, schema: parentSchema } : {}),
  }
}
