import type { JsonSchema } from '../json/json-schema.js'
import type { FieldDefinition } from '../types.js'

/** Example values of a key, for editors. */
export const examples = (...values: readonly unknown[]): JsonSchema => ({ examples: values })

/** The default of a key. The description repeats it, because not every editor shows defaults. */
export const withDefault = (value: unknown, schema: JsonSchema): JsonSchema => ({
  ...schema,
  default: value,
  description: `${schema.description} Default: ${JSON.stringify(value)}.`,
})

/** A boolean attribute. */
export const flag = (description: string, byDefault = false): JsonSchema =>
  withDefault(byDefault, { type: 'boolean', description })

/** An attribute that is text. */
export const text = (description: string, ...values: readonly string[]): JsonSchema => ({
  type: 'string',
  description,
  ...examples(...values),
})

/** An attribute that is a whole number. */
export const count = (description: string, ...values: readonly number[]): JsonSchema => ({
  type: 'integer',
  minimum: 0,
  description,
  ...examples(...values),
})

/** A list of at least one element, without duplicates. */
export const listOf = (type: string, description: string, ...values: readonly unknown[]): JsonSchema => ({
  type: 'array',
  items: { type },
  minItems: 1,
  uniqueItems: true,
  description,
  ...examples(...values),
})

/** The comment attribute of every object but literals and filters: the two functions below add it. */
export const COMMENT: JsonSchema = {
  $comment: text('A comment; the service ignores it.', 'Drafts are for their authors alone.'),
}

/** A closed object with a comment. */
export const object = (properties: JsonSchema, more: JsonSchema = {}): JsonSchema => ({
  type: 'object',
  properties: { ...properties, ...COMMENT },
  additionalProperties: false,
  ...more,
})

/** An object whose names the configuration chooses, except the `known` ones. */
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

/** The attribute `default`, which has the field's own type. */
export const filled = (schema: JsonSchema, more = '') => ({
  default: {
    ...schema,
    description: `The value of the field in a new document that lacks it.${more} Default: none.`,
  },
})

/** The attributes `minLength` and `maxLength`. */
export const lengths = (least: number, most: number) => ({
  minLength: count('The text must have at least so many characters (code points).', least),
  maxLength: count('The text may have at most so many characters (code points).', most),
})

/** The attribute `enum`, with values of a type. */
export const choice = (type: string, example: readonly unknown[]) => ({
  enum: listOf(type, 'The only values allowed.', example),
})

/** The attributes of a definition that are JSON Schema keywords with the same meaning. */
export const pickKeywords = (definition: FieldDefinition, keywords: readonly string[]): JsonSchema =>
  Object.fromEntries(Object.entries(definition).filter(([keyword]) => keywords.includes(keyword)))
