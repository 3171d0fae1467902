import { type JsonSchema, STRING_FORMATS } from '../schema/json-schema.js'
import { COLLECTION_NAME, FIELD_NAME, RESERVED_FIELD_NAMES } from '../schema/names.js'
import type { FieldTypeName, Limits } from '../types.js'

/** Names that match `COLLECTION_NAME` and are no collection's all the same. */
export const RESERVED_COLLECTION_NAMES: readonly string[] = ['auth', 'constructor', 'prototype']

const flag = (description: string): JsonSchema => ({ type: 'boolean', description })
const text = (description: string): JsonSchema => ({ type: 'string', description })
const count = (description: string): JsonSchema => ({ type: 'integer', minimum: 0, description })
const listOf = (items: JsonSchema, description: string): JsonSchema => ({
  type: 'array',
  items,
  minItems: 1,
  uniqueItems: true,
  description,
})

/** Stands in every object but literals and filters, so in what the two functions below make and nowhere else. */
const COMMENT: JsonSchema = { $comment: text('For people; ignored.') }

const object = (properties: JsonSchema, more: JsonSchema = {}): JsonSchema => ({
  type: 'object',
  properties: { ...properties, ...COMMENT },
  additionalProperties: false,
  ...more,
})

/** An object whose names are the configuration's own choice. */
const mapOf = (values: JsonSchema, description: string, names: JsonSchema): JsonSchema => ({
  type: 'object',
  description,
  properties: COMMENT,
  propertyNames: { if: { const: '$comment' }, else: names },
  additionalProperties: values,
})

/** The attributes that each type has for itself; `default` among them, because its type is the field's. */
const OWN_ATTRIBUTES: { readonly [type in FieldTypeName]: JsonSchema } = {
  string: {
    minLength: count('At least so many code points.'),
    maxLength: count('At most so many code points.'),
    pattern: text('A portable pattern that the text must contain.'),
    format: { type: 'string', enum: STRING_FORMATS, description: 'A form that the text must have.' },
    enum: listOf({ type: 'string' }, 'The only values allowed.'),
    trim: flag('White space around the text is removed first.'),
    lowercase: flag('The text is put in lower case first.'),
    default: text('Stored where a new document lacks the field.'),
  },
  hash: {
    minLength: count('At least so many code points.'),
    maxLength: count('At most so many code points.'),
  },
  number: {
    minimum: { type: 'number', description: 'The least value allowed.' },
    maximum: { type: 'number', description: 'The greatest value allowed.' },
    enum: listOf({ type: 'number' }, 'The only values allowed.'),
    default: { type: 'number', description: 'Stored where a new document lacks the field.' },
  },
  integer: {
    minimum: { type: 'integer', description: 'The least value allowed.' },
    maximum: { type: 'integer', description: 'The greatest value allowed.' },
    enum: listOf({ type: 'integer' }, 'The only values allowed.'),
    default: { type: 'integer', description: 'Stored where a new document lacks the field.' },
  },
  boolean: { default: flag('Stored where a new document lacks the field.') },
  timestamp: {
    minimum: text('The earliest time allowed, RFC 3339.'),
    maximum: text('The latest time allowed, RFC 3339.'),
    default: text('Stored where a new document lacks the field; "$now" is the time of the request.'),
  },
  array: {
    items: { $ref: '#/$defs/item' },
    minItems: count('At least so many elements.'),
    maxItems: count('At most so many elements.'),
    default: { type: 'array', description: 'Stored where a new document lacks the field.' },
  },
  object: {
    properties: mapOf({ $ref: '#/$defs/property' }, 'The fields inside the object.', fieldNames()),
    default: { type: 'object', description: 'Stored where a new document lacks the field.' },
  },
  json: { default: { description: 'Stored where a new document lacks the field.' } },
  reference: {
    collection: text('The collection of the document whose _id this is.'),
    onDelete: {
      type: 'string',
      enum: ['restrict', 'cascade'],
      description: 'Keeps that document from being deleted, or is deleted with it. Default restrict.',
    },
    default: text('Stored where a new document lacks the field.'),
  },
}

const NEEDED_ATTRIBUTES: { readonly [type in FieldTypeName]?: readonly string[] } = {
  array: ['items'],
  object: ['properties'],
  reference: ['collection'],
}

export const FIELD_TYPES = Object.keys(OWN_ATTRIBUTES) as readonly FieldTypeName[]

const SCALARS: readonly FieldTypeName[] = ['string', 'number', 'integer', 'boolean', 'timestamp', 'reference']

const COMMON_ATTRIBUTES: JsonSchema = {
  description: text('For people.'),
  required: flag('The property must be there whenever a document is stored.'),
  nullable: flag('A null in a body is accepted and means "absent".'),
  immutable: flag('Set on create only.'),
}

const INDEX_ATTRIBUTES: JsonSchema = {
  unique: flag('No two documents have the same value.'),
  index: flag('Filters and sorts on the field are fast.'),
}

/** The attributes of all types together, each with its schema where the types agree on one. */
function mergeAttributes(types: readonly FieldTypeName[], attributesOf: (type: FieldTypeName) => JsonSchema) {
  const merged = new Map<string, unknown>()
  for (const [name, schema] of types.flatMap((type) => Object.entries(attributesOf(type)))) {
    const isAgreed = !merged.has(name) || JSON.stringify(merged.get(name)) === JSON.stringify(schema)
    merged.set(name, isAgreed ? schema : {})
  }
  return Object.fromEntries(merged)
}

/**
 * A definition is told apart by its `type`, so that a fault is that of the type meant; where that is none, what would
 * be a fault of every type is one.
 */
const definitionOf = (
  types: readonly FieldTypeName[],
  attributesOf: (type: FieldTypeName) => JsonSchema,
): JsonSchema => ({
  type: 'object',
  discriminator: { propertyName: 'type' },
  required: ['type'],
  oneOf: types.map((type) =>
    object(
      { type: { const: type }, ...attributesOf(type) },
      {
        required: ['type', ...(NEEDED_ATTRIBUTES[type] ?? [])],
        if: { properties: { required: { const: true } }, required: ['required'] },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        then: { properties: { nullable: { const: false } } },
      },
    ),
  ),
  if: { properties: { type: { enum: types } } },
  else: object({ type: {}, ...mergeAttributes(types, attributesOf) }),
})

function fieldNames(): JsonSchema {
  return { pattern: FIELD_NAME, not: { enum: RESERVED_FIELD_NAMES } }
}

function withoutDefault(attributes: JsonSchema): JsonSchema {
  const { default: _, ...others } = attributes
  return others
}

const propertyList = (description: string): JsonSchema => ({
  type: 'array',
  items: { type: 'string' },
  uniqueItems: true,
  description,
})

const PROPERTY_ATTRIBUTES: JsonSchema = {
  pick: propertyList('Only these properties; [] is none.'),
  omit: propertyList('All but these properties; of those picked, if there is a pick.'),
}
const WHERE: JsonSchema = { type: 'object', description: 'Only documents that match this filter.' }

const rule = (properties: JsonSchema): JsonSchema => object(properties, { type: ['boolean', 'object'] })

const WRITE_ATTRIBUTES: JsonSchema = {
  ...PROPERTY_ATTRIBUTES,
  check: { type: 'object', description: 'What the document must satisfy as it would be stored.' },
  set: {
    type: 'object',
    description: 'Values put in over the body; "$user.<field>" and "$now" stand for what they say.',
    properties: COMMENT,
  },
}

const OPERATION_ATTRIBUTES: JsonSchema = {
  create: rule(WRITE_ATTRIBUTES),
  read: rule({ ...PROPERTY_ATTRIBUTES, where: WHERE }),
  update: rule({ ...WRITE_ATTRIBUTES, where: WHERE }),
  delete: rule({ where: WHERE }),
}

const GRANT: JsonSchema = object(
  { ...OPERATION_ATTRIBUTES, ...PROPERTY_ATTRIBUTES },
  {
    type: ['boolean', 'object'],
    description:
      'true, false, rules by operation, or { pick, omit } for reading all and creating with these properties.',
    if: { type: 'object', anyOf: [{ required: ['pick'] }, { required: ['omit'] }] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { create: false, read: false, update: false, delete: false } },
  },
)

const LIMITS: { readonly [name in keyof Limits]: JsonSchema } = {
  defaultLimit: {
    type: ['integer', 'null'],
    minimum: 1,
    description: 'Documents of a list that names no limit.',
  },
  maxLimit: { type: ['integer', 'null'], minimum: 1, description: 'The largest limit that a list may name.' },
  bodyBytes: { type: 'integer', minimum: 1, description: 'Bytes of a request body.' },
  documentBytes: {
    type: 'integer',
    minimum: 1,
    description: 'Bytes of a document as JSON, as its writer may read it.',
  },
  queryBytes: { type: 'integer', minimum: 1, description: 'Bytes of a query string.' },
  conditions: { type: 'integer', minimum: 1, description: 'Conditions of a query.' },
  values: { type: 'integer', minimum: 1, description: 'Values of a query.' },
  patterns: { type: 'integer', minimum: 1, description: 'Patterns of a query.' },
  expanded: {
    type: 'integer',
    minimum: 1,
    description: 'Documents that expand puts into one array of a document.',
  },
  bulk: { type: 'integer', minimum: 1, description: 'Documents of a bulk create.' },
  requestSeconds: {
    type: 'number',
    exclusiveMinimum: 0,
    maximum: 3600,
    description: 'Seconds from a request to the first byte of its answer.',
  },
}

const COLLECTION: JsonSchema = object(
  {
    schema: mapOf({ $ref: '#/$defs/field' }, 'Field names and their definitions.', fieldNames()),
    permissions: mapOf(
      GRANT,
      'Who may do what: "*" everyone, "user" whoever is signed in, "owner" the creator, else a role.',
      { minLength: 1 },
    ),
    additionalProperties: flag('Undeclared properties are stored and returned.'),
    indexes: {
      type: 'array',
      description: 'Indexes over several fields.',
      items: object(
        {
          fields: listOf({ type: 'string' }, 'Top-level fields that hold single values.'),
          unique: flag('No two documents have the same values in all fields.'),
        },
        { required: ['fields'] },
      ),
    },
  },
  { required: ['schema'] },
)

/** The JSON Schema of `config.json`: what an editor completes by and the compiler checks first. */
export const CONFIG_SCHEMA: JsonSchema = object(
  {
    $schema: text('Where this schema lies; ignored.'),
    collections: mapOf(COLLECTION, 'Collection names and their settings.', {
      pattern: COLLECTION_NAME,
      not: { enum: RESERVED_COLLECTION_NAMES },
    }),
    auth: object({
      identifier: text('The unique string field of "users" that names an account.'),
      secret: text('The hash field of "users".'),
      roleField: text('The field of "users" that holds the role.'),
      register: flag('Whether strangers may register. Default true.'),
      sessionDays: { type: 'number', exclusiveMinimum: 0, maximum: 3650, description: 'Default 30.' },
      cost: { type: 'integer', minimum: 10, maximum: 15, description: "bcrypt's cost. Default 12." },
    }),
    limits: object(LIMITS),
  },
  {
    required: ['collections'],
    $defs: {
      field: definitionOf(FIELD_TYPES, (type) => ({
        ...OWN_ATTRIBUTES[type],
        ...COMMON_ATTRIBUTES,
        ...(SCALARS.includes(type) ? INDEX_ATTRIBUTES : {}),
      })),
      property: definitionOf(
        FIELD_TYPES.filter((type) => type !== 'hash'),
        (type) => ({ ...OWN_ATTRIBUTES[type], ...COMMON_ATTRIBUTES }),
      ),
      item: definitionOf(
        FIELD_TYPES.filter((type) => type !== 'hash'),
        (type) => ({ ...withoutDefault(OWN_ATTRIBUTES[type]), description: COMMON_ATTRIBUTES.description }),
      ),
    },
  },
)

/** The file that the package ships as `config.schema.json`. */
export const publishedConfigSchema = (): JsonSchema => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Configuration of collection-service',
  ...CONFIG_SCHEMA,
})
