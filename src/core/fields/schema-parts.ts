import type { JsonSchema } from '../json/json-schema.js'
import type { FieldDefinition } from '../types.js'

/** Returns the keyword `examples` of a key; editors show its values. */
export const examples = (...values: readonly unknown[]): JsonSchema => ({ examples: values })

/**
 * Adds the default of a key to its schema. The description repeats the default, because not every editor
 * shows defaults.
 */
export const withDefault = (value: unknown, schema: JsonSchema): JsonSchema => ({
  ...schema,
  default: value,
  description: `${schema.description} Default: ${JSON.stringify(value)}.`,
})

/** Describes a boolean attribute. */
export const flag = (description: string, byDefault = false): JsonSchema =>
  withDefault(byDefault, { type: 'boolean', description })

/** Describes an attribute whose value is a string. */
export const text = (description: string, ...values: readonly string[]): JsonSchema => ({
  type: 'string',
  description,
  ...examples(...values),
})

/** Describes an attribute whose value is a whole number. */
export const count = (description: string, ...values: readonly number[]): JsonSchema => ({
  type: 'integer',
  minimum: 0,
  description,
  ...examples(...values),
})

/** Describes an attribute whose value is a list of at least one element, without duplicates. */
export const listOf = (type: string, description: string, ...values: readonly unknown[]): JsonSchema => ({
  type: 'array',
  items: { type },
  minItems: 1,
  uniqueItems: true,
  description,
  ...examples(...values),
})

/** The attribute `$comment`. `object` and `mapOf` add it to every object except literals and filters. */
export const COMMENT: JsonSchema = {
  $comment: text('A comment. The service ignores it.', 'Drafts are for their authors alone.'),
}

/** Describes an object with these properties and a comment, and no others. */
export const object = (properties: JsonSchema, more: JsonSchema = {}): JsonSchema => ({
  type: 'object',
  properties: { ...properties, ...COMMENT },
  additionalProperties: false,
  ...more,
})

/** Describes an object with property names that the author of the configuration chooses, and the `known` names. */
export const mapOf = (
  values: JsonSchema,
  { names, known = {}, ...more }: JsonSchema & { readonly names: JsonSchema; readonly known?: JsonSchema },
): JsonSchema => ({
  type: 'object',
  properties: { ...known, ...COMMENT },
  propertyNames: { if: { const: '$comment' }, else: names },
  additionalProperties: values,
  ...more,
})

/** Describes the attribute `default`, which has the type of the field. */
export const filled = (schema: JsonSchema, more = '') => ({
  default: {
    ...schema,
    description: `The value of the field in a new document whose body lacks the field.${more} Default: none.`,
  },
})

/** Describes the attributes `minLength` and `maxLength`. */
export const lengths = (least: number, most: number) => ({
  minLength: count('The text must have at least this number of characters (code points).', least),
  maxLength: count('The text may have at most this number of characters (code points).', most),
})

/** Describes the attribute `enum`, whose values have the type `type`. */
export const choice = (type: string, example: readonly unknown[]) => ({
  enum: listOf(type, 'The only values allowed.', example),
})

/** Picks the attributes of a definition that are JSON Schema keywords with the same meaning. */
export const pickKeywords = (definition: FieldDefinition, keywords: readonly string[]): JsonSchema =>
  Object.fromEntries(Object.entries(definition).filter(([keyword]) => keywords.includes(keyword)))
