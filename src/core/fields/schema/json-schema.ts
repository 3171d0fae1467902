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

/** One violated keyword. `path` is the JSON pointer of the property at fault. */
export interface Violation {
  readonly path: string
  readonly keyword: string
  /** The keyword's own parameters, never the value. */
  readonly params: { readonly [name: string]: unknown }
  /** Whether the name itself is at fault, not the value under it. */
  readonly isName?: boolean
  /** The value at fault and the schema that it violates: for configurations only, which hold no secrets. */
  readonly found?: unknown
  readonly schema?: JsonSchema
}

const encoder = new TextEncoder()

/** The length of a text in bytes of UTF-8. */
export const countBytes = (text: string): number => encoder.encode(text).length

function createAjv(verbose: boolean): Ajv {
  // Patterns run on our own engine, in linear time. ajv identifies compiled patterns by their `toString`.
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
    // ajv then compiles each referenced schema once.
    inlineRefs: false,
    // Without this, `required: ["toString"]` would hold for every object.
    ownProperties: true,
    allowUnionTypes: true,
    strictTypes: true,
    discriminator: true,
    // The schemas are ours; checking them against the meta-schema costs more than compiling them.
    meta: false,
    validateSchema: false,
    logger: false,
    // A configuration is checked once: shorter code would cost more than it saves.
    code: { regExp, optimize: !verbose },
  })
  addFormats.default(ajv, [...STRING_FORMATS])
  ajv.addFormat('email', isEmail)
  ajv.addFormat('timestamp', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  // ajv's `enum` compares a value with each member in turn, which is slow for many values and long lists.
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

/** The size of the cache of compiled schemas, in UTF-16 units of their text. */
const MAX_KEPT = 256 * 1024

/** By the text of the schema: collections, and services of one process, often share schemas. */
const kept = createBoundedMap<string, { readonly find: FindViolations; readonly length: number }>(
  CACHES.schemas,
  MAX_KEPT,
  ({ length }) => length,
)

/**
 * Compiles a schema, which is JSON, to a function that returns the violations: the first for each path, and the
 * first for its name. Compiling costs milliseconds the first time. With `verbose`, a violation holds the value that
 * was found.
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
  // ajv would retain every schema that it ever compiled.
  ajv.removeSchema(schema)
  return (value) => {
    if (validate(value)) return NONE
    const byPath = new Map<string, Violation>()
    for (const error of validate.errors ?? []) {
      // These two only repeat a violation inside, which is reported itself.
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
