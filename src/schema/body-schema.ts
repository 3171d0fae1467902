import { isObject } from '../json/own-properties.js'
import type { FieldDefinition } from '../types.js'
import type { Field } from './field.js'
import type { JsonSchema } from './json-schema.js'

/** CONTRACT.md §1: a unique or indexed string, in bytes. */
export const MAX_INDEXED_BYTES = 1024
/** CONTRACT.md §4: bcrypt ignores what lies beyond. */
export const MAX_SECRET_BYTES = 72

/**
 * The JSON Schema of a value of `field`, normalised, a secret still in clear; without patterns, which are judged apart.
 * `indexed`: the value enters an index.
 */
export function toBodySchema(field: Field, indexed: ReadonlySet<string>): JsonSchema {
  const { definition } = field
  switch (definition.type) {
    case 'string':
      return {
        type: 'string',
        ...pickKeywords(definition, ['minLength', 'maxLength', 'format', 'enum']),
        ...(indexed.has(field.path) ? { maxBytes: MAX_INDEXED_BYTES } : {}),
      }
    case 'hash':
      return {
        type: 'string',
        ...pickKeywords(definition, ['minLength', 'maxLength']),
        maxBytes: MAX_SECRET_BYTES,
      }
    case 'number':
    case 'integer':
      return { type: definition.type, ...pickKeywords(definition, ['minimum', 'maximum', 'enum']) }
    case 'boolean':
      return { type: 'boolean' }
    case 'timestamp':
      return {
        type: 'string',
        format: 'timestamp',
        ...(definition.minimum === undefined ? {} : { notBefore: definition.minimum }),
        ...(definition.maximum === undefined ? {} : { notAfter: definition.maximum }),
      }
    case 'array':
      // Elements are validated one by one, by a validator of their own: see `compileValidator`.
      return { type: 'array', ...pickKeywords(definition, ['minItems', 'maxItems']) }
    case 'object':
      return toObjectSchema(field.properties, new Set())
    case 'reference':
      // Whether there is such a document is for the storage to say.
      return { type: 'string' }
    case 'json':
      return {}
    default:
      return definition satisfies never
  }
}

/** The JSON Schema of a body, or of an object in it; it says nothing of undeclared properties. */
export function toObjectSchema(fields: readonly Field[], indexed: ReadonlySet<string>): JsonSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map((field) => [field.name, toBodySchema(field, indexed)])),
    required: fields.filter(({ definition }) => definition.required).map(({ name }) => name),
  }
}

function pickKeywords(definition: FieldDefinition, keywords: readonly string[]): JsonSchema {
  if (!isObject(definition)) return {}
  return Object.fromEntries(Object.entries(definition).filter(([keyword]) => keywords.includes(keyword)))
}
