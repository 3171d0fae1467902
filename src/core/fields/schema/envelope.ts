import type { Fault } from '../../errors.js'
import type { JsonSchema } from '../../json/json-schema.js'
import { isObject } from '../../json/own-properties.js'
import { toPointerPart } from '../../json/pointer.js'
import type { JsonObject } from '../../types.js'
import { compileJsonSchema } from './json-schema.js'
import { suggest } from './names.js'
import { describeViolation, MAX_FAULTS, MAX_PATH } from './validator.js'

/** The JSON Schema of a body that is not a document: an object that allows no other properties. */
export interface EnvelopeSchema extends JsonSchema {
  readonly type: 'object'
  readonly properties: { readonly [name: string]: JsonSchema }
  readonly required: readonly string[]
  readonly additionalProperties: false
}

/** Creates the schema of an object that requires all its properties and allows no others. */
export const envelope = (properties: EnvelopeSchema['properties']): EnvelopeSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

/**
 * Compiles the validator of an envelope, which takes milliseconds. The validator stops at 50 faults, because
 * a client controls the number of properties and elements of a body.
 */
export function compileEnvelope(schema: EnvelopeSchema): (body: JsonObject) => readonly Fault[] {
  const shells = Object.entries(schema.properties).map(([name, { items, ...shell }]) => [name, shell])
  const judge = compileLevel({ ...schema, properties: Object.fromEntries(shells) })
  const lists = Object.entries(schema.properties).flatMap(([name, { items }]) =>
    items === undefined ? [] : [{ name, judgeElement: compileLevel(items as JsonSchema) }],
  )
  return (body) => {
    const faults: Fault[] = []
    judge(body, '', faults)
    for (const { name, judgeElement } of lists) {
      const elements = body[name]
      const at = toPointerPart(name)
      if (!Array.isArray(elements) || faults.some(({ path }) => path === at)) continue
      for (let i = 0; i < elements.length && faults.length < MAX_FAULTS; i++)
        judgeElement(elements[i], `${at}/${i}`, faults)
    }
    return faults
  }
}

/** Adds the faults of a value at the JSON pointer `at`, until the limit is reached. */
type JudgeLevel = (value: unknown, at: string, faults: Fault[]) => void

/** Compiles the check of one level. It finds unknown names itself, so that it can stop at the limit. */
function compileLevel(schema: JsonSchema): JudgeLevel {
  const { properties } = schema
  const names = isObject(properties) ? Object.keys(properties) : undefined
  const validate = compileJsonSchema(names ? { ...schema, additionalProperties: true } : schema)
  return (value, at, faults) => {
    for (const violation of validate(value)) {
      if (faults.length >= MAX_FAULTS) return
      faults.push(describeViolation({ ...violation, path: at + violation.path }))
    }
    if (!names || !isObject(value)) return
    for (const name of Object.keys(value)) {
      if (faults.length >= MAX_FAULTS) return
      if (!names.includes(name)) faults.push(unknownName(at, name, names))
    }
  }
}

const unknownName = (at: string, name: string, known: readonly string[]): Fault => ({
  path: (at + toPointerPart(name)).slice(0, MAX_PATH),
  code: 'unknown_property',
  message: `is unknown here${suggest(name, known) || `; allowed: ${known.join(', ')}`}`,
})
