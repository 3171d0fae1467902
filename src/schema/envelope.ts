import type { Fault } from '../errors.js'
import type { JsonSchema } from '../json/json-schema.js'
import { toPointerPart } from '../json/pointer.js'
import type { JsonObject } from '../types.js'
import { compileJsonSchema } from './json-schema.js'
import { suggest } from './names.js'
import { describeViolation, MAX_FAULTS, MAX_PATH } from './validator.js'

/** The JSON Schema of a body that is not a document: a closed object. */
export interface EnvelopeSchema extends JsonSchema {
  readonly type: 'object'
  readonly properties: { readonly [name: string]: JsonSchema }
  readonly required: readonly string[]
  readonly additionalProperties: false
}

/** A closed object; all its properties are required. */
export const envelope = (properties: EnvelopeSchema['properties']): EnvelopeSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

/**
 * Compiles the validator of an envelope; it finds at most 50 faults. Compiling costs milliseconds. A client
 * decides how many properties and elements a body has, so the validator stops once it has enough faults.
 */
export function compileEnvelope(schema: EnvelopeSchema): (body: JsonObject) => readonly Fault[] {
  const names = Object.keys(schema.properties)
  const shells = Object.entries(schema.properties).map(([name, { items, ...shell }]) => [name, shell])
  const validate = compileJsonSchema({
    ...schema,
    properties: Object.fromEntries(shells),
    additionalProperties: true,
  })
  const lists = Object.entries(schema.properties).flatMap(([name, { items }]) =>
    items === undefined ? [] : [{ name, validateElement: compileJsonSchema(items as JsonSchema) }],
  )
  return (body) => {
    const faults: Fault[] = validate(body).map(describeViolation)
    const known = new Set(faults.map(({ path }) => path))
    for (const name of Object.keys(body)) {
      if (faults.length >= MAX_FAULTS) return faults
      if (!names.includes(name)) faults.push(unknownName(name, names))
    }
    for (const { name, validateElement } of lists) {
      const elements = body[name]
      const at = toPointerPart(name)
      if (!Array.isArray(elements) || known.has(at)) continue
      for (let i = 0; i < elements.length; i++) {
        for (const violation of validateElement(elements[i])) {
          if (faults.length >= MAX_FAULTS) return faults
          faults.push(describeViolation({ ...violation, path: `${at}/${i}${violation.path}` }))
        }
      }
    }
    return faults
  }
}

const unknownName = (name: string, known: readonly string[]): Fault => ({
  path: toPointerPart(name).slice(0, MAX_PATH),
  code: 'unknown_property',
  message: `is unknown here${suggest(name, known) || `; allowed: ${known.join(', ')}`}`,
})
