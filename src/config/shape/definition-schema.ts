import { FIELD_TYPE_NAMES, fieldTypeOf } from '../../fields/field-types.js'
import { flag, object, text } from '../../fields/schema-parts.js'
import type { JsonSchema } from '../../json/json-schema.js'
import type { FieldTypeName } from '../../types.js'

/** A secret stands at the top level alone. */
const INNER_TYPES = FIELD_TYPE_NAMES.filter((type) => fieldTypeOf(type).valueType !== null)

const COMMON_ATTRIBUTES: JsonSchema = {
  description: text(
    'What the field is for; stands in the types that the command prints.',
    'Shown above the text.',
  ),
  required: flag('The field must be there whenever a document is stored.'),
  nullable: flag('A null in a body is accepted and means that the field is absent.'),
  immutable: flag('The field is set when a document is created and never again.'),
}

const INDEX_ATTRIBUTES: JsonSchema = {
  unique: flag('No two documents have the same value here; those without the field do not collide.'),
  index: flag('Filters and sorts on the field are fast.'),
}

type AttributesOf = (type: FieldTypeName) => JsonSchema

/** The attributes of all types together, each with its schema where the types agree on one. */
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
 * A definition is told apart by its `type`, so that a fault is that of the type meant; where that is none, what would
 * be a fault of every type is one.
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
    type: { description: `What a value of the field is: ${types.join(', ')}.` },
    ...mergeAttributes(types, attributesOf),
  }),
})

/** The attributes that a type has for itself. */
const ownAttributes = (type: FieldTypeName): JsonSchema => fieldTypeOf(type).attributes

const withoutDefault = ({ default: _, ...attributes }: JsonSchema): JsonSchema => attributes

/** Definitions of fields, of properties inside objects, and of elements. */
export const DEFINITIONS: JsonSchema = {
  field: definitionOf(FIELD_TYPE_NAMES, (type) => ({
    ...ownAttributes(type),
    ...COMMON_ATTRIBUTES,
    ...(fieldTypeOf(type).isScalar ? INDEX_ATTRIBUTES : {}),
  })),
  property: definitionOf(INNER_TYPES, (type) => ({ ...ownAttributes(type), ...COMMON_ATTRIBUTES })),
  item: definitionOf(INNER_TYPES, (type) => ({
    ...withoutDefault(ownAttributes(type)),
    description: COMMON_ATTRIBUTES.description,
  })),
}
