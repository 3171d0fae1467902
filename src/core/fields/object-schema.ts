import type { JsonSchema } from '../json/json-schema.js'
import type { Field } from './field-type.js'

/** The maximum bytes of a unique or indexed string, or of an element of an indexed array (CONTRACT.md §1). */
export const MAX_INDEXED_BYTES = 1024

/** Returns the JSON Schema of a normalised value. The length of an indexed string is limited. */
export const toValueSchema = (field: Field, indexed: ReadonlySet<string>): JsonSchema => {
  const { fieldType, path } = field
  const isHeld = fieldType.isScalar && fieldType.isUnbounded && indexed.has(path)
  return { ...fieldType.bodySchema(field), ...(isHeld ? { maxBytes: MAX_INDEXED_BYTES } : {}) }
}

/** Returns the JSON Schema of an object with these fields. It allows undeclared properties. */
export const toObjectSchema = (
  fields: readonly Field[],
  indexed: ReadonlySet<string> = new Set(),
): JsonSchema => ({
  type: 'object',
  properties: Object.fromEntries(fields.map((field) => [field.name, toValueSchema(field, indexed)])),
  required: fields.filter(({ definition }) => definition.required).map(({ name }) => name),
})
