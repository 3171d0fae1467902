import type { JsonSchema } from '../json/json-schema.js'
import type { Field } from './field-type.js'

/** The most bytes of a unique or indexed string (CONTRACT.md §1). */
export const MAX_INDEXED_BYTES = 1024

/** The JSON Schema of an object with these fields, some of them indexed; it allows undeclared properties. */
export const toObjectSchema = (
  fields: readonly Field[],
  indexed: ReadonlySet<string> = new Set(),
): JsonSchema => ({
  type: 'object',
  properties: Object.fromEntries(
    fields.map((field) => {
      const { fieldType, name, path } = field
      const isHeld = fieldType.isScalar && fieldType.isUnbounded && indexed.has(path)
      return [name, { ...fieldType.bodySchema(field), ...(isHeld ? { maxBytes: MAX_INDEXED_BYTES } : {}) }]
    }),
  ),
  required: fields.filter(({ definition }) => definition.required).map(({ name }) => name),
})
