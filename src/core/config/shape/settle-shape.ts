import type { Field } from '../../fields/field-type.js'
import type { JsonSchema } from '../../json/json-schema.js'
import { isObject, readOwn } from '../../json/own-properties.js'
import { toPointerPart } from '../../json/pointer.js'
import type { Config, FieldDefinition } from '../../types.js'
import { CONFIG_SCHEMA } from './config-schema.js'

/** Replaces a definition of unknown type. Checks that depend on the type skip it. */
export const UNSURE: FieldDefinition = Object.freeze({ type: 'json' })

/**
 * Returns the parts of a configuration that can be compiled and so checked further: without comments and
 * without the values at the pointers in `misshapen`. A removed element leaves a hole, so that the other
 * elements keep their index.
 */
export function settleShape(config: unknown, misshapen: ReadonlySet<string> = new Set()): Partial<Config> {
  const settle = (value: unknown, schema: JsonSchema, at: string): unknown => {
    if (typeof schema.$ref === 'string') {
      const target = resolve(schema.$ref)
      if (!Array.isArray(target.oneOf)) return settle(value, target, at)
      const ofType = findAlternative(target.oneOf, value)
      return (ofType && settle(value, ofType, at)) ?? UNSURE
    }
    if (misshapen.has(at)) return undefined
    if (Array.isArray(value)) {
      const kept: unknown[] = new Array(value.length)
      for (const [i, element] of value.entries()) {
        const inside = settle(element, toSchema(schema.items), at + toPointerPart(i))
        if (inside !== undefined) kept[i] = inside
      }
      return Object.freeze(kept)
    }
    if (!isObject(value)) return value
    const known = toSchema(schema.properties)
    const entries = Object.entries(value).flatMap(([name, inner]): [string, unknown][] => {
      if (name === '$comment' && Object.hasOwn(known, name)) return []
      const within = toSchema(readOwn(known, name) ?? schema.additionalProperties)
      const inside = settle(inner, within, at + toPointerPart(name))
      return inside === undefined ? [] : [[name, inside]]
    })
    const needed = at !== '' && Array.isArray(schema.required) ? schema.required : []
    const present = new Set<unknown>(entries.map(([name]) => name))
    const isWhole = needed.every((name) => present.has(name))
    // An object that must have members is also removed if all its members were removed.
    const isEmptied = schema.minProperties !== undefined && entries.length === 0 && !isOnlyComment(value)
    return isWhole && !isEmptied ? Object.freeze(Object.fromEntries(entries)) : undefined
  }
  return toSchema(settle(config, CONFIG_SCHEMA, ''))
}

/** Returns a test of whether a path names a field of unknown type, or leads inside such a field. */
export const isUnsurePath =
  (paths: ReadonlyMap<string, Field>) =>
  (path: string): boolean =>
    path.split('.').some((_, i, names) => {
      const field = paths.get(names.slice(0, i + 1).join('.'))
      return field?.definition === UNSURE || field?.items?.definition === UNSURE
    })

const isOnlyComment = (value: object): boolean => Object.keys(value).every((name) => name === '$comment')

const toSchema = (schema: unknown): JsonSchema => (isObject(schema) ? schema : {})

const resolve = (reference: string): JsonSchema =>
  toSchema(readOwn(toSchema(CONFIG_SCHEMA.$defs), reference.split('/').at(-1) ?? ''))

type TypeAlternative = JsonSchema & { readonly properties: { readonly type: { readonly const: string } } }

/** Returns the schema for the type of a definition; `undefined` if the type is unknown. */
const findAlternative = (
  alternatives: readonly TypeAlternative[],
  definition: unknown,
): JsonSchema | undefined =>
  isObject(definition)
    ? alternatives.find(({ properties }) => properties.type.const === readOwn(definition, 'type'))
    : undefined
