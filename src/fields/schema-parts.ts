import type { JsonSchema } from '../json/json-schema.js'
import type { FieldDefinition } from '../types.js'

/** What may stand under a key, as an editor shows it. */
export const examples = (...values: readonly unknown[]): JsonSchema => ({ examples: values })

/** What holds where a key is left out; the description says so too, for not every editor shows defaults. */
export const withDefault = (value: unknown, schema: JsonSchema): JsonSchema => ({
  ...schema,
  default: value,
  description: `${schema.description} Default: ${JSON.stringify(value)}.`,
})

export const flag = (description: string, byDefault = false): JsonSchema =>
  withDefault(byDefault, { type: 'boolean', description })

export const text = (description: string, ...values: readonly string[]): JsonSchema => ({
  type: 'string',
  description,
  ...examples(...values),
})

export const count = (description: string, ...values: readonly number[]): JsonSchema => ({
  type: 'integer',
  minimum: 0,
  description,
  ...examples(...values),
})

/** At least one element, none twice. */
export const listOf = (type: string, description: string, ...values: readonly unknown[]): JsonSchema => ({
  type: 'array',
  items: { type },
  minItems: 1,
  uniqueItems: true,
  description,
  ...examples(...values),
})

/** Stands in every object but literals and filters, so in what the two functions below make and nowhere else. */
export const COMMENT: JsonSchema = {
  $comment: text('A note for people; the service ignores it.', 'Drafts are for their authors alone.'),
}

export const object = (properties: JsonSchema, more: JsonSchema = {}): JsonSchema => ({
  type: 'object',
  properties: { ...properties, ...COMMENT },
  additionalProperties: false,
  ...more,
})

/** An object whose names are the configuration's own choice, but for the `known` ones. */
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

/** `default`, which is of the field's own type. */
export const filled = (schema: JsonSchema, more = '') => ({
  default: {
    ...schema,
    description: `What a new document gets that lacks the field.${more} Without it: nothing.`,
  },
})

/** `minLength` and `maxLength`. */
export const lengths = (least: number, most: number) => ({
  minLength: count('The text must have at least so many characters (code points).', least),
  maxLength: count('The text may have at most so many characters (code points).', most),
})

/** `enum`, of values of a type. */
export const choice = (type: string, example: readonly unknown[]) => ({
  enum: listOf(type, 'The only values allowed.', example),
})

/** The attributes of a definition that are keywords of JSON Schema and mean the same there. */
export const pickKeywords = (definition: FieldDefinition, keywords: readonly string[]): JsonSchema =>
  Object.fromEntries(Object.entries(definition).filter(([keyword]) => keywords.includes(keyword)))
