import type { Fault } from '../../errors.js'
import type { JsonSchema } from '../../json/json-schema.js'
import { isObject } from '../../json/own-properties.js'
import { toPointerPart } from '../../json/pointer.js'
import type { JsonObject } from '../../types.js'
import { compileKeywords, type Flaw } from './keywords.js'
import { suggest } from './names.js'
import { type Check, judgeValue, MAX_FAULTS, MAX_PATH } from './validator.js'

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
 * Compiles the validator of an envelope. The validator stops at 50 faults, because a client controls the number of
 * properties and elements of a body.
 */
export function compileEnvelope(schema: EnvelopeSchema): (body: JsonObject) => readonly Fault[] {
  const judge = compileLevel(schema)
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

/** Compiles the check of a value and of its properties, but of no elements inside them. */
function compileLevel({ properties, required, ...schema }: Partial<EnvelopeSchema>): JudgeLevel {
  const compileOne = (one: JsonSchema, isRequired = true): Check => ({
    judge: compileKeywords(one),
    isRequired,
    required: 0,
    steps: 0,
  })
  const names = Object.keys(properties ?? {})
  const inside = Object.entries(properties ?? {}).map(
    ([name, one]) => [name, compileOne(one, required?.includes(name) ?? false)] as const,
  )
  const check = { ...compileOne(schema), properties: new Map(inside) }
  return (value, at, faults) => {
    const add = (path: string, [code, message]: Flaw) => faults.push({ path, code, message }) < MAX_FAULTS
    if (!judgeValue(check, value, at, add) || !properties || !isObject(value)) return
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
