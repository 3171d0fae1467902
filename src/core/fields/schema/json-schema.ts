import { Ajv, type ErrorObject } from 'ajv'
import { compilePattern } from '../../filter/pattern/compile-pattern.js'
import { parsePattern } from '../../filter/pattern/parse-pattern.js'
import type { JsonSchema } from '../../json/json-schema.js'
import { toPointerPart } from '../../json/pointer.js'

/** One violated keyword. `path` is the JSON pointer of the invalid property. */
export interface Violation {
  readonly path: string
  readonly keyword: string
  /** The parameters of the keyword. */
  readonly params: { readonly [name: string]: unknown }
  /** Whether the name of the property is invalid, instead of its value. */
  readonly isName?: boolean
  /** The invalid value, and the schema that it violates. */
  readonly found: unknown
  readonly schema: JsonSchema
}

/**
 * Compiles a JSON Schema to a function that returns the violations: for each path, only the first one of the value and
 * the first one of the name. Compiling takes milliseconds. Only for configurations, because violations contain values.
 */
export function compileJsonSchema(schema: JsonSchema): (value: unknown) => readonly Violation[] {
  // Patterns run on our own engine. ajv identifies a compiled pattern by its `toString`.
  const regExp = (source: string) => ({
    test: compilePattern(parsePattern(source, { ignoreCase: false })).test,
    toString: () => source,
  })
  const validate = new Ajv({
    allErrors: true,
    verbose: true,
    // With this setting, ajv compiles each referenced schema only once.
    inlineRefs: false,
    // Otherwise every object would satisfy `required: ["toString"]`.
    ownProperties: true,
    allowUnionTypes: true,
    discriminator: true,
    // We wrote the schemas; checking them against the meta-schema takes longer than compiling them.
    meta: false,
    validateSchema: false,
    logger: false,
    // A configuration is checked only once, so optimizing the generated code would take longer than it saves.
    code: { regExp: Object.assign(regExp, { code: 'portablePattern' }), optimize: false },
  }).compile(schema)
  return (value) => {
    validate(value)
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
    found: data,
    schema: parentSchema ?? {},
  }
}
