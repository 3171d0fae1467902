import { FIELD_TYPE_NAMES, fieldTypeOf } from '../../fields/field-types.js'
import { FIELD_NAME, FIELD_NAMES, RESERVED_FIELD_NAMES } from '../../fields/names.js'
import { COLLECTION_NAME, RESERVED_COLLECTION_NAMES } from '../../fields/schema/names.js'
import {
  COMMENT,
  examples,
  flag,
  listOf,
  mapOf,
  object,
  text,
  withDefault,
} from '../../fields/schema-parts.js'
import type { JsonSchema } from '../../json/json-schema.js'
import type { FieldTypeName, Limits } from '../../types.js'
import { DEFAULT_AUTH, DEFAULT_LIMITS } from '../defaults.js'

/** The types of fields inside other fields: all except secrets, which are only allowed at the top level. */
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

/**
 * Merges the attributes of all types. If types disagree on an attribute's schema, only its description
 * remains.
 */
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
 * Returns the schema of a field's definition. `type` selects one alternative, so that only faults of the
 * intended type are reported. If the type is unknown, an attribute is a fault only if no type has it.
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

/** Returns the attributes that only this type has. */
const ownAttributes = (type: FieldTypeName): JsonSchema => fieldTypeOf(type).attributes

const withoutDefault = ({ default: _, ...attributes }: JsonSchema): JsonSchema => attributes

/** The definitions of fields, of properties inside objects, and of array elements. */
const DEFINITIONS: JsonSchema = {
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

const limit = (type: JsonSchema['type'], description: string, example: number): JsonSchema => ({
  type,
  minimum: 1,
  description,
  ...examples(example),
})

const EACH: { readonly [name in keyof Limits]: JsonSchema } = {
  defaultLimit: limit(
    ['integer', 'null'],
    'The limit of a list whose query has none; null: the value of maxLimit.',
    20,
  ),
  maxLimit: limit(
    ['integer', 'null'],
    'The largest limit of a list, and the default one; null: unlimited.',
    100,
  ),
  bodyBytes: limit('integer', 'Bytes of the body of a request.', 1_048_576),
  documentBytes: limit('integer', 'Bytes of a document as JSON, as its writer may read it.', 2_097_152),
  queryBytes: limit('integer', 'Bytes of a query string.', 8192),
  conditions: limit('integer', 'Conditions of a query: pairs of a field and an operator.', 64),
  values: limit('integer', 'Values of a query.', 100),
  patterns: limit('integer', 'Patterns ($regex) of a query.', 10),
  expanded: limit('integer', 'Documents that expand puts into one array of a document.', 100),
  bulk: limit('integer', 'Documents of a bulk create, and operations of a batch.', 100),
  added: {
    ...limit('integer', 'Operations that a hook adds to the write of one document.', 10),
    maximum: 1000,
  },
  requestSeconds: {
    type: 'number',
    exclusiveMinimum: 0,
    maximum: 3600,
    description: 'Seconds from a request to the first byte of its answer.',
    ...examples(10),
  },
  subscribers: limit(
    'integer',
    'The most streams of changes of one process; one caller, or one address, may have a tenth.',
    1000,
  ),
  changesHours: {
    type: 'number',
    exclusiveMinimum: 0,
    maximum: 8760,
    description: 'Hours for which a stream of changes can resume.',
    ...examples(24),
  },
  changesBytes: limit(
    'integer',
    'Bytes of documents in the log of changes of a database; beyond them the oldest changes are deleted.',
    1_073_741_824,
  ),
}

/** The JSON Schema of `limits`. */
const LIMITS: JsonSchema = object(
  Object.fromEntries(
    Object.entries(EACH).map(([name, schema]) => [
      name,
      withDefault(DEFAULT_LIMITS[name as keyof Limits], schema),
    ]),
  ),
  { description: 'Limits of a request.', ...examples({ defaultLimit: 20, maxLimit: 100 }) },
)

/**
 * Names that a claim must not have, because callers authenticated by the host application have fields with
 * these names.
 */
const TAKEN: readonly string[] = ['id', 'roles']

const CLAIM: JsonSchema = object(
  {
    from: text('The collection of the documents.', 'memberships'),
    where: {
      type: 'object',
      description:
        'The documents of the claim: a filter in the query language. "$user.<field>" is the caller\'s own value, "$now" the time; other claims are not allowed.',
      ...examples({ user: '$user._id', role: 'admin' }),
    },
    take: text('_id, or the top-level field of single values whose values the claim holds.', 'team'),
  },
  {
    required: ['from', 'where', 'take'],
    description: 'A claim: the values of one field in all documents that match.',
  },
)

/** The JSON Schema of `auth.claims`. */
const CLAIMS: JsonSchema = mapOf(CLAIM, {
  names: { pattern: FIELD_NAME, not: { enum: [...RESERVED_FIELD_NAMES, ...TAKEN] } },
  description:
    'Claims: values of a caller that come from other documents, by name; { "team": { "$in": "$user.<name>" } } in a rule.',
  ...examples({
    adminOf: { from: 'memberships', where: { user: '$user._id', role: 'admin' }, take: 'team' },
  }),
})

/** The JSON Schema of `auth`. */
const AUTH: JsonSchema = object(
  {
    identifier: text(
      'The unique string field of "users" that identifies an account. Required if there are several.',
      'email',
    ),
    secret: text('The hash field of "users" with the password. Required if there are several.', 'password'),
    roleField: text(
      'The field of "users" that holds the role, or an array of roles. Without it, no account has a role.',
      'role',
    ),
    register: flag('Whether strangers may create an account.', DEFAULT_AUTH.register),
    sessionDays: withDefault(DEFAULT_AUTH.sessionDays, {
      type: 'number',
      exclusiveMinimum: 0,
      maximum: 3650,
      description: 'Days after which a session ends.',
      ...examples(7),
    }),
    sessions: withDefault(DEFAULT_AUTH.sessions, {
      type: 'integer',
      minimum: 1,
      maximum: 1000,
      description: 'The most sessions of an account: a further login ends the oldest.',
      ...examples(20),
    }),
    cost: withDefault(DEFAULT_AUTH.cost, {
      type: 'integer',
      minimum: 10,
      maximum: 15,
      description: 'The cost of a bcrypt hash: each step doubles its time.',
      ...examples(12),
    }),
    verifiedField: withDefault(null, {
      type: ['string', 'null'],
      description:
        'The timestamp field of "users" with the time of verification; only the service writes it. null: no verification.',
      ...examples('verifiedAt'),
    }),
    requireVerified: flag(
      'An account is valid only after verification, and no answer reveals whether an identifier is taken. Requires verifiedField and the option deliver.',
      DEFAULT_AUTH.requireVerified,
    ),
    resetMinutes: withDefault(DEFAULT_AUTH.resetMinutes, {
      type: 'number',
      exclusiveMinimum: 0,
      maximum: 1440,
      description: 'Minutes until a token for a password reset expires.',
      ...examples(30),
    }),
    claims: withDefault({}, CLAIMS),
  },
  {
    description: 'Settings of accounts, which exist if "users" has a hash field.',
    ...examples({ roleField: 'role', register: false }),
  },
)

const propertyList = (description: string): JsonSchema => ({
  type: 'array',
  items: { type: 'string' },
  uniqueItems: true,
  description,
  ...examples(['title', 'tags']),
})

const PROPERTY_ATTRIBUTES: JsonSchema = {
  pick: propertyList('Only these properties; [] is none. Without it: all.'),
  omit: propertyList('All but these properties; beside pick, what is picked less these. Without it: none.'),
}

const filter = (description: string): JsonSchema => ({
  type: 'object',
  description: `${description} A filter in the query language; "$user.<field>" is the caller's own value, "$now" the time.`,
  ...examples(
    { status: 'published' },
    { team: '$user.team', views: { $gte: 10 } },
    { $or: [{ isOpen: true }, { createdBy: '$user._id' }] },
  ),
})

const WHERE: JsonSchema = {
  where: filter('Which stored documents the rule is about. Without it: all.'),
}

const WRITE_ATTRIBUTES: JsonSchema = {
  ...PROPERTY_ATTRIBUTES,
  check: filter(
    'A filter that the document must match as it would be stored. Default on update: the filter of where; {} removes it.',
  ),
  set: {
    type: 'object',
    description:
      'Values that replace those of the body, by property; "$user.<field>" is the caller\'s own value, "$now" the time.',
    properties: COMMENT,
    ...examples({ team: '$user.team' }, { status: 'draft' }),
  },
}

const rule = (description: string, properties: JsonSchema): JsonSchema =>
  object(properties, {
    type: ['boolean', 'object'],
    description: `${description} true: without restriction; false: denied; an object: a rule.`,
    ...examples(true),
  })

const OPERATIONS: JsonSchema = {
  create: rule('The right to create documents.', WRITE_ATTRIBUTES),
  read: rule('The right to read, list and count documents.', { ...PROPERTY_ATTRIBUTES, ...WHERE }),
  update: rule('The right to update documents that the subject may read.', {
    ...WRITE_ATTRIBUTES,
    ...WHERE,
  }),
  delete: rule('The right to delete documents that the subject may read.', WHERE),
}

const GRANT: JsonSchema = object(
  { ...OPERATIONS, ...PROPERTY_ATTRIBUTES },
  {
    type: ['boolean', 'object'],
    description:
      'true: everything; false: nothing; rules by operation; or { pick, omit }, which allows reading everything and creating with these properties.',
    ...examples(true, { read: true, create: { pick: ['title'] } }, { pick: ['title', 'tags'] }),
    if: { type: 'object', anyOf: [{ required: ['pick'] }, { required: ['omit'] }] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { create: false, read: false, update: false, delete: false } },
  },
)

const grantTo = (description: string): JsonSchema => ({
  $ref: '#/$defs/grant',
  description: `${description} ${GRANT.description}`,
})

const SUBJECTS: JsonSchema = {
  '*': grantTo('Everyone, signed in or not.'),
  user: grantTo('Everyone who is signed in.'),
  owner: grantTo('The creator of the document: for read, update and delete.'),
}

/** PostgreSQL allows 32 columns in an index, and one column is the `_id`. */
const MAX_FIELDS = 31

const INDEX: JsonSchema = object(
  {
    fields: {
      ...listOf(
        'string',
        'Top-level fields of single values, in order. One may be an array of such values, with maxItems of at most 1,000.',
        ['status', 'createdAt'],
      ),
      maxItems: MAX_FIELDS,
    },
    unique: flag('No two documents have the same values in all of these fields.'),
  },
  { required: ['fields'], description: 'An index.' },
)

const COLLECTION: JsonSchema = object(
  {
    schema: mapOf(
      { $ref: '#/$defs/field' },
      {
        names: FIELD_NAMES,
        description:
          'The fields of a document, by name. _id, createdAt, updatedAt and createdBy exist without a definition.',
        ...examples({ title: { type: 'string', required: true } }),
      },
    ),
    permissions: withDefault(
      {},
      mapOf(
        { $ref: '#/$defs/grant' },
        {
          names: { minLength: 1 },
          known: SUBJECTS,
          description:
            'The rights of each subject: "*" is everyone, "user" every signed-in caller, "owner" the creator of a document; any other name is a role. Everything else is denied.',
          ...examples({ '*': { read: true }, owner: { update: true, delete: true }, admin: true }),
        },
      ),
    ),
    additionalProperties: flag('Properties that the schema does not name are stored and returned.'),
    changes: flag("GET /<collection>/changes tells what changes here, in each caller's own view."),
    indexes: withDefault([], {
      type: 'array',
      items: INDEX,
      description: 'Indexes over several fields; unique and indexed fields have their own.',
      ...examples([{ fields: ['status', 'createdAt'] }, { fields: ['team', 'slug'], unique: true }]),
    }),
  },
  { required: ['schema'], description: 'A collection of documents, served under its name.' },
)

/**
 * The JSON Schema of `config.json`. The compiler checks configurations with it, and editors use it for
 * completion.
 */
export const CONFIG_SCHEMA: JsonSchema = object(
  {
    $schema: text(
      'The path of this schema, for editors; the service ignores it.',
      './node_modules/collection-service/dist/config.schema.json',
    ),
    $ignore: {
      type: 'array',
      items: { type: 'string', pattern: '^[a-z_]+ (?:/.*)?$' },
      uniqueItems: true,
      description:
        'Silences findings of `check` and warnings at start: "<code> <pointer>", then " - " and an optional reason.',
      ...examples(['read_without_index /collections/notes/permissions/user/read - there are few']),
    },
    collections: mapOf(COLLECTION, {
      names: { pattern: COLLECTION_NAME, not: { enum: RESERVED_COLLECTION_NAMES } },
      description: 'The collections, by name: /<name> serves each. "users" holds the accounts.',
      ...examples({ notes: { schema: { text: { type: 'string' } }, permissions: { user: true } } }),
    }),
    auth: AUTH,
    limits: LIMITS,
  },
  { required: ['collections'], $defs: { ...DEFINITIONS, grant: GRANT } },
)

/** Returns the content of the published file `config.schema.json`. */
export const publishedConfigSchema = (): JsonSchema => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Configuration of collection-service',
  description: 'Collections, their schemas and who may do what with them.',
  ...CONFIG_SCHEMA,
})
