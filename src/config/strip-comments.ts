import { isObject, readOwn } from '../filter/read-path.js'
import type { JsonSchema } from '../schema/json-schema.js'
import type { JsonObject } from '../types.js'
import { CONFIG_SCHEMA } from './config-schema.js'

/** The configuration without its `$comment`s, where its schema knows of them: what is compiled, or printed. */
export function stripComments(value: unknown, schema: JsonSchema = CONFIG_SCHEMA): unknown {
  if (Array.isArray(value)) {
    return Object.freeze(value.map((element) => stripComments(element, toSchema(schema.items))))
  }
  if (!isObject(value)) return value
  const { properties = {}, additionalProperties } = resolve(schema, value)
  const known = toSchema(properties)
  const entries = Object.entries(value).flatMap(([name, inner]): [string, unknown][] => {
    if (name === '$comment' && Object.hasOwn(known, name)) return []
    return [[name, stripComments(inner, toSchema(readOwn(known, name) ?? additionalProperties))]]
  })
  return Object.freeze(Object.fromEntries(entries))
}

const toSchema = (schema: unknown): JsonSchema => (isObject(schema) ? schema : {})

/** The schema that a reference names and, of a definition, the one of its type. */
function resolve(schema: JsonSchema, value: JsonObject): JsonSchema {
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.split('/').at(-1) ?? ''
    return resolve(toSchema(readOwn(toSchema(CONFIG_SCHEMA.$defs), name)), value)
  }
  if (!Array.isArray(schema.oneOf)) return schema
  return toSchema(schema.oneOf.find(({ properties }) => properties.type.const === value.type))
}
