import { FIELD_TYPE_NAMES, fieldTypeOf } from '../../fields/field-types.js'
import { flag, object, text } from '../../fields/schema-parts.js'
import type { JsonSchema } from '../../json/json-schema.js'
import type { FieldTypeName } from '../../types.js'

/** The types of inner fields: a secret is allowed at the top level only. */
const INNER_TYPES = FIELD_TYPE_NAMES.filter((type) => fieldTypeOf(type).valueType !== null)

const COMMON_ATTRIBUTES: JsonSchema = {
  description: text('The purpose of the field; printed in the generated types.', 'Shown above the text.'),
  required: flag('The field must be there whenever a document is stored.'),
  nullable: flag('A null in a body is accepted and means that the field is absent.'),
  immutable: flag('The field is set when a document is created and never again.'),
}

const INDEX_ATTRIBUTES = {
  unique: flag('No two documents have the same value here; those without the field do not collide.'),
  index: flag(
    'Creates an index for filters and sorts on the field; on an array of single values, for filters on one element. The array needs maxItems of at most 1,000.',
  ),
}

type AttributesOf = (type: FieldTypeName) => JsonSchema

/** The attributes of all types together; the schema of an attribute is given where all types agree on it. */
function mergeAttributes(types: readonly FieldTypeName[], attributesOf: AttributesOf): JsonSchema {
  const merged = new Map<string, JsonSchema>()
  for (const [name, schema] of types.flatMap((type) => Object.entries(attributesOf(type)))) {
    const { description } = schema as JsonSchema
    const isAgreed = !merged.has(name) || JSON.stringify(merged.get(name)) === JSON.stringify(schema)
    merged.set(name, isAgreed ? (schema as JsonSchema) : { description })
  }
  return Object.fromEntries(merged)
}

/**
 * The definitions of a field. `type` decides which schema applies, so that faults are those of the type
 * meant; with an unknown type, an attribute is a fault only if no type has it.
 */
const definitionOf = (types: readonly FieldTypeName[], attributesOf: AttributesOf): JsonSchema => ({
  type: 'object',
  discriminator: { propertyName: 'type' },
  required: ['type'],
  oneOf: types.map((type) =>
    object(
      { type: { const: type, description: fieldTypeOf(type).description }, ...attributesOf(type) },
      {
        required: ['type', ...(fieldTypeOf(type).needed ?? [])],
        if: { properties: { required: { const: true } }, required: ['required'] },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        then: { properties: { nullable: { const: false } } },
      },
    ),
  ),
  if: { properties: { type: { enum: types } } },
  else: object({
    type: { description: `The type of the values: ${types.join(', ')}.` },
    ...mergeAttributes(types, attributesOf),
  }),
})

/** The attributes that only this type has. */
const ownAttributes = (type: FieldTypeName): JsonSchema => fieldTypeOf(type).attributes

const withoutDefault = ({ default: _, ...attributes }: JsonSchema): JsonSchema => attributes

/** The definitions of fields, of properties inside objects, and of array elements. */
export const DEFINITIONS: JsonSchema = {
  field: definitionOf(FIELD_TYPE_NAMES, (type) => ({
    ...ownAttributes(type),
    ...COMMON_ATTRIBUTES,
    ...(fieldTypeOf(type).isScalar
      ? INDEX_ATTRIBUTES
      : type === 'array'
        ? { index: INDEX_ATTRIBUTES.index }
        : {}),
  })),
  property: definitionOf(INNER_TYPES, (type) => ({ ...ownAttributes(type), ...COMMON_ATTRIBUTES })),
  item: definitionOf(INNER_TYPES, (type) => ({
    ...withoutDefault(ownAttributes(type)),
    description: COMMON_ATTRIBUTES.description,
  })),
}
