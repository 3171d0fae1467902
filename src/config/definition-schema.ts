import { type JsonSchema, STRING_FORMATS } from '../schema/json-schema.js'
import { FIELD_NAME, RESERVED_FIELD_NAMES } from '../schema/names.js'
import type { FieldTypeName } from '../types.js'
import { count, examples, flag, listOf, mapOf, object, text, withDefault } from './schema-parts.js'

/** What the name of a field must be. */
export const FIELD_NAMES: JsonSchema = { pattern: FIELD_NAME, not: { enum: RESERVED_FIELD_NAMES } }

/** `default`: its type is the field's. */
const filled = (schema: JsonSchema, more = ''): JsonSchema => ({
  default: {
    ...schema,
    description: `What a new document gets that lacks the field.${more} Without it: nothing.`,
  },
})

const lengths = (...[least, most]: readonly number[]): JsonSchema => ({
  minLength: count('The text must have at least so many characters (code points).', least ?? 1),
  maxLength: count('The text may have at most so many characters (code points).', most ?? 200),
})

const bounds = (type: 'number' | 'integer', least: number, most: number): JsonSchema => ({
  minimum: { type, description: 'The least value allowed.', ...examples(least) },
  maximum: { type, description: 'The greatest value allowed.', ...examples(most) },
})

const CHOICE = 'The only values allowed.'

/** The attributes that each type has for itself; `default` among them, because its type is the field's. */
const OWN_ATTRIBUTES: { readonly [type in FieldTypeName]: JsonSchema } = {
  string: {
    ...lengths(1, 200),
    pattern: text(
      'A regular expression that must match somewhere in the text; ^ and $ tie it to the ends. No look-around and no back references.',
      '^[a-z0-9-]+$',
    ),
    format: {
      type: 'string',
      enum: STRING_FORMATS,
      description: 'A form that the text must have.',
      ...examples('email'),
    },
    enum: listOf('string', CHOICE, ['draft', 'published']),
    trim: flag('White space around the text is removed before anything else.'),
    lowercase: flag('The text is put in lower case before anything else.'),
    ...filled({ type: 'string', ...examples('draft') }),
  },
  hash: lengths(8, 72),
  number: {
    ...bounds('number', 0, 0.5),
    enum: listOf('number', CHOICE, [0.5, 1, 2]),
    ...filled({ type: 'number', ...examples(0) }),
  },
  integer: {
    ...bounds('integer', 0, 5),
    enum: listOf('integer', CHOICE, [1, 2, 3]),
    ...filled({ type: 'integer', ...examples(0) }),
  },
  boolean: filled({ type: 'boolean', ...examples(false) }),
  timestamp: {
    minimum: text('The earliest time allowed: an RFC 3339 date-time or date.', '2020-01-01'),
    maximum: text('The latest time allowed: an RFC 3339 date-time or date.', '2099-12-31T23:59:59Z'),
    ...filled({ type: 'string', ...examples('$now', '2026-11-20T08:00:00Z') }, ' "$now" is the time then.'),
  },
  array: {
    items: { $ref: '#/$defs/item', description: 'What each element is.', ...examples({ type: 'string' }) },
    minItems: count('The array must have at least so many elements.', 1),
    maxItems: count('The array may have at most so many elements.', 20),
    ...filled({ type: 'array', ...examples([]) }),
  },
  object: {
    properties: mapOf(
      { $ref: '#/$defs/property' },
      {
        names: FIELD_NAMES,
        description: 'The fields inside the object, by name.',
        ...examples({ city: { type: 'string', required: true }, zip: { type: 'string' } }),
      },
    ),
    ...filled({ type: 'object', ...examples({ city: 'Ulm' }) }),
  },
  json: filled(examples({ theme: 'dark' }, [], null)),
  reference: {
    collection: text('The collection of the document whose _id this is.', 'users'),
    onDelete: withDefault('restrict', {
      type: 'string',
      enum: ['restrict', 'cascade'],
      description:
        'When that document is deleted: "restrict" keeps it from being deleted, "cascade" deletes this one with it.',
    }),
    ...filled({ type: 'string', ...examples('01990000-0000-7000-8000-000000000000') }),
  },
}

const NEEDED_ATTRIBUTES: { readonly [type in FieldTypeName]?: readonly string[] } = {
  array: ['items'],
  object: ['properties'],
  reference: ['collection'],
}

/** What a value of each type is. */
const TYPES: { readonly [type in FieldTypeName]: string } = {
  string: 'Text of any length.',
  hash: 'A secret, such as a password: stored as a hash, never shown and never compared.',
  number: 'A finite number.',
  integer: 'A whole number.',
  boolean: 'true or false.',
  timestamp: 'A point in time, RFC 3339; shown in UTC, as in 2026-11-20T08:00:00.000Z.',
  array: 'A list of values of one kind.',
  object: 'An object with fields of its own.',
  json: 'Any JSON; queries can only ask whether it is there.',
  reference: 'The _id of a document of another collection, or of the same one.',
}

const FIELD_TYPES = Object.keys(OWN_ATTRIBUTES) as readonly FieldTypeName[]
const INNER_TYPES = FIELD_TYPES.filter((type) => type !== 'hash')
const SCALARS: readonly FieldTypeName[] = ['string', 'number', 'integer', 'boolean', 'timestamp', 'reference']

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
      { type: { const: type, description: TYPES[type] }, ...attributesOf(type) },
      {
        required: ['type', ...(NEEDED_ATTRIBUTES[type] ?? [])],
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

const withoutDefault = ({ default: _, ...attributes }: JsonSchema): JsonSchema => attributes

/** Definitions of fields, of properties inside objects, and of elements. */
export const DEFINITIONS: JsonSchema = {
  field: definitionOf(FIELD_TYPES, (type) => ({
    ...OWN_ATTRIBUTES[type],
    ...COMMON_ATTRIBUTES,
    ...(SCALARS.includes(type) ? INDEX_ATTRIBUTES : {}),
  })),
  property: definitionOf(INNER_TYPES, (type) => ({ ...OWN_ATTRIBUTES[type], ...COMMON_ATTRIBUTES })),
  item: definitionOf(INNER_TYPES, (type) => ({
    ...withoutDefault(OWN_ATTRIBUTES[type]),
    description: COMMON_ATTRIBUTES.description,
  })),
}
