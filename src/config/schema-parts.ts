import type { JsonSchema } from '../schema/json-schema.js'

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
