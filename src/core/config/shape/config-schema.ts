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
  description: text(
    'The purpose of the field. It is printed in the generated types.',
    'The headline of the article.',
  ),
  required: flag('Every stored document must have the field.'),
  nullable: flag('A null in a body is accepted and means that the field is absent.'),
  immutable: flag('The field can only be set when a document is created.'),
  stored: {
    type: 'string',
    ...FIELD_NAMES,
    description: 'The name of the field in the storage, if the field was renamed. Without it: its own name.',
    ...examples('title'),
  },
  fill: {
    description:
      'The value that a run of migrate gives to stored documents that lack the field. Only beside "required": true.',
    ...examples('en'),
  },
}

const INDEX_ATTRIBUTES = {
  unique: flag(
    'No two documents may have the same value in this field. Any number of documents may lack the field.',
  ),
  index: flag(
    'Creates an index for filters and sorts on the field. On an array of single values, the index serves filters on one element, and the array must have a maxItems of at most 1,000.',
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
 * Returns the schema of a field's definition. `type` selects an alternative, so that only faults for the
 * intended type are reported. If the type is unknown, only an attribute that no type has is a fault.
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

/** Returns the attributes of a type besides the common attributes. */
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
    'The limit of a list whose query has no limit. null: the value of maxLimit.',
    20,
  ),
  maxLimit: limit(
    ['integer', 'null'],
    'The largest limit of a list, and the limit of a list if neither its query nor defaultLimit sets one. null: unlimited.',
    100,
  ),
  bodyBytes: limit('integer', 'The maximum number of bytes of a request body.', 1_048_576),
  documentBytes: limit(
    'integer',
    'The maximum number of bytes of a document as JSON, with the properties that its writer may read.',
    2_097_152,
  ),
  queryBytes: limit('integer', 'The maximum number of bytes of a query string.', 8192),
  conditions: limit(
    'integer',
    'The maximum number of conditions of a query. A condition is a field with an operator.',
    64,
  ),
  values: limit('integer', 'The maximum number of values of a query.', 100),
  groups: limit(
    'integer',
    'The maximum number of groups of an aggregate, on all its pages together.',
    10_000,
  ),
  patterns: limit('integer', 'The maximum number of patterns ($regex) of a query.', 10),
  expanded: limit(
    'integer',
    'The maximum number of documents that expand puts into one array of a document.',
    100,
  ),
  bulk: limit(
    'integer',
    'The maximum number of documents of a bulk create, and of operations of a batch.',
    100,
  ),
  added: {
    ...limit(
      'integer',
      'The maximum number of operations that a hook may add to the write of one document.',
      10,
    ),
    maximum: 1000,
  },
  requestSeconds: {
    type: 'number',
    exclusiveMinimum: 0,
    maximum: 3600,
    description: 'The maximum number of seconds from a request to the first byte of its response.',
    ...examples(10),
  },
  subscribers: limit(
    'integer',
    'The maximum number of streams of changes of one process. One caller, or one address, may open a tenth of them.',
    1000,
  ),
  changesHours: {
    type: 'number',
    exclusiveMinimum: 0,
    maximum: 8760,
    description: 'The number of hours for which a stream of changes can resume.',
    ...examples(24),
  },
  changesBytes: limit(
    'integer',
    'The maximum number of bytes of documents in the log of changes of a database. If the log is larger, its oldest changes are deleted.',
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
  {
    description: 'Limits of requests, of streams of changes, and of the log of changes.',
    ...examples({ defaultLimit: 20, maxLimit: 100 }),
  },
)

/**
 * Names that a claim must not have, because callers that the host application authenticates have such fields.
 */
const TAKEN: readonly string[] = ['id', 'roles']

const CLAIM: JsonSchema = object(
  {
    from: text('The collection of the documents.', 'memberships'),
    where: {
      type: 'object',
      description:
        'A filter in the query language that selects the documents of the claim. "$user.<field>" is the caller\'s own value, "$now" the time, "$user.<claim>" the values of another claim, beside $in and $nin. A claim that uses claims cannot be used by a claim.',
      ...examples({ user: '$user._id', role: 'admin' }, { team: { $in: '$user.teams' } }),
    },
    take: text(
      'The field whose values the claim contains: _id, or a top-level field of single values.',
      'team',
    ),
  },
  {
    required: ['from', 'where', 'take'],
    description: 'A claim: the values of one field in all documents that match the filter "where".',
  },
)

/** The JSON Schema of `auth.claims`. */
const CLAIMS: JsonSchema = mapOf(CLAIM, {
  names: { pattern: FIELD_NAME, not: { enum: [...RESERVED_FIELD_NAMES, ...TAKEN] } },
  description:
    'Claims by name: values that belong to a caller and are read from documents. A rule uses a claim as in { "team": { "$in": "$user.<name>" } }.',
  ...examples({
    adminOf: { from: 'memberships', where: { user: '$user._id', role: 'admin' }, take: 'team' },
  }),
})

/** The JSON Schema of `auth.cookie`. */
const COOKIE: JsonSchema = object(
  {
    name: {
      type: 'string',
      // RFC 9110 §5.6.2, as RFC 6265 requires.
      pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$",
      description: 'Default: "__Host-session" or, on another path than "/", "session".',
      ...examples('__Host-session'),
    },
    sameSite: withDefault('lax', {
      type: 'string',
      enum: ['lax', 'strict'],
      description: 'The attribute SameSite. strict: links of other sites lead to pages without the session.',
      ...examples('strict'),
    }),
    path: withDefault('/', text('The attribute Path. It covers the base path.', '/api')),
    origins: withDefault([], {
      type: 'array',
      items: { type: 'string' },
      uniqueItems: true,
      description: 'Other origins whose pages may use the cookie; also origins of the option cors.',
      ...examples(['https://app.example']),
    }),
  },
  {
    type: ['boolean', 'object'],
    description: 'Browsers may keep sessions in a cookie that scripts cannot read. true: all defaults.',
    ...examples(true, { sameSite: 'strict' }),
  },
)

/** The JSON Schema of `auth`. */
const AUTH: JsonSchema = object(
  {
    identifier: text(
      'The unique string field of "users" that identifies an account. Required if there are several such fields.',
      'email',
    ),
    secret: text(
      'The hash field of "users" with the password. Required if there are several hash fields.',
      'password',
    ),
    roleField: text(
      'The field of "users" that contains the role, or an array of roles. Without it, no account has a role.',
      'role',
    ),
    register: flag('Whether anyone may create an account.', DEFAULT_AUTH.register),
    sessionDays: withDefault(DEFAULT_AUTH.sessionDays, {
      type: 'number',
      exclusiveMinimum: 0,
      maximum: 3650,
      description: 'The number of days after which a session ends.',
      ...examples(7),
    }),
    sessions: withDefault(DEFAULT_AUTH.sessions, {
      type: 'integer',
      minimum: 1,
      maximum: 1000,
      description:
        'The maximum number of sessions of an account. If there are more, a login ends the oldest session.',
      ...examples(20),
    }),
    cost: withDefault(DEFAULT_AUTH.cost, {
      type: 'integer',
      minimum: 10,
      maximum: 15,
      description: 'The cost of a bcrypt hash. Each increment doubles the time of hashing.',
      ...examples(12),
    }),
    verifiedField: withDefault(null, {
      type: ['string', 'null'],
      description:
        'The timestamp field of "users" with the time of verification. Only the service writes it. null: accounts are not verified.',
      ...examples('verifiedAt'),
    }),
    requireVerified: flag(
      'An account is valid only after verification, and no response reveals whether an identifier is taken. Requires verifiedField and the option deliver.',
      DEFAULT_AUTH.requireVerified,
    ),
    resetMinutes: withDefault(DEFAULT_AUTH.resetMinutes, {
      type: 'number',
      exclusiveMinimum: 0,
      maximum: 1440,
      description: 'The number of minutes until a token for a password reset expires.',
      ...examples(30),
    }),
    cookie: withDefault(false, COOKIE),
    claims: withDefault({}, CLAIMS),
  },
  {
    description: 'Settings of accounts. The service keeps accounts if "users" has a hash field.',
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
  pick: propertyList(
    'The only properties to which the rule applies; [] means none. Without pick: all properties.',
  ),
  omit: propertyList(
    'Properties to which the rule does not apply. With pick, they are removed from the picked properties. Without omit: none.',
  ),
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
  where: filter('The stored documents to which the rule applies. Without where: all documents.'),
}

const WRITE_ATTRIBUTES: JsonSchema = {
  ...PROPERTY_ATTRIBUTES,
  check: filter(
    'A condition on the document in the form in which it would be stored. Default for update: the filter of where; {} means no condition.',
  ),
  set: {
    type: 'object',
    description:
      'Values by property. They replace the values of the body. "$user.<field>" is the caller\'s own value, "$now" the time.',
    properties: COMMENT,
    ...examples({ team: '$user.team' }, { status: 'draft' }),
  },
}

/** The maximum number of rules of a subject for one operation. */
const MAX_RULES = 16

const rules = (description: string, properties: JsonSchema): JsonSchema =>
  object(properties, {
    type: ['boolean', 'object', 'array'],
    description: `${description} true: allowed without restriction; false: denied; an object: allowed by a rule; an array: allowed by 1 to ${MAX_RULES} rules.`,
    ...examples(true),
    items: object(properties, { description: 'One of several rules.' }),
    minItems: 1,
    maxItems: MAX_RULES,
  })

const OPERATIONS: JsonSchema = {
  create: rules('The permission to create documents.', WRITE_ATTRIBUTES),
  read: rules('The permission to read, list and count documents.', { ...PROPERTY_ATTRIBUTES, ...WHERE }),
  update: rules('The permission to update documents that the subject may read.', {
    ...WRITE_ATTRIBUTES,
    ...WHERE,
  }),
  delete: rules('The permission to delete documents that the subject may read.', WHERE),
}

const GRANT: JsonSchema = object(
  { ...OPERATIONS, ...PROPERTY_ATTRIBUTES },
  {
    type: ['boolean', 'object'],
    description:
      'true: everything is allowed; false: nothing; an object: rules by operation, or { pick, omit }, which allows reading everything and creating documents with these properties.',
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
  owner: grantTo('The creator of the document, who can have rules for read, update and delete.'),
}

/** PostgreSQL allows 32 columns in an index, and one column is the `_id`. */
const MAX_FIELDS = 31

const INDEX: JsonSchema = object(
  {
    fields: {
      ...listOf(
        'string',
        'Top-level fields of single values, in the order of the index. One field may be an array of such values with a maxItems of at most 1,000.',
        ['status', 'createdAt'],
      ),
      maxItems: MAX_FIELDS,
    },
    unique: flag('No two documents may have the same values in all of these fields.'),
  },
  { required: ['fields'], description: 'An index.' },
)

const COLLECTION: JsonSchema = object(
  {
    stored: {
      type: 'string',
      pattern: COLLECTION_NAME,
      not: { enum: RESERVED_COLLECTION_NAMES },
      description:
        'The name of the collection in the storage, if the collection was renamed. Without it: its own name.',
      ...examples('posts'),
    },
    erase: {
      type: 'array',
      items: { type: 'string', ...FIELD_NAMES },
      uniqueItems: true,
      description:
        'The stored names of former top-level fields and properties whose values migrate --erase removes. No field may use them.',
      ...examples(['internalNote']),
    },
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
            'The permissions of each subject: "*" is everyone, "user" every signed-in caller, "owner" the creator of a document; any other name is a role. Operations that are not allowed here are denied.',
          ...examples({ '*': { read: true }, owner: { update: true, delete: true }, admin: true }),
        },
      ),
    ),
    additionalProperties: flag('Properties that the schema does not name are accepted, stored and returned.'),
    changes: flag(
      'GET /<collection>/changes streams the changes in this collection. Each caller receives only what it may read.',
    ),
    indexes: withDefault([], {
      type: 'array',
      items: INDEX,
      description: 'Indexes over several fields. A field with unique or index already has its own index.',
      ...examples([{ fields: ['status', 'createdAt'] }, { fields: ['team', 'slug'], unique: true }]),
    }),
  },
  { required: ['schema'], description: 'A collection of documents, served under its name.' },
)

/** The pattern of the names of migrations (CONTRACT.md §1). */
const MIGRATION_NAME = '^[a-zA-Z0-9][a-zA-Z0-9_-]{0,62}$'

/**
 * The JSON Schema of `config.json`. The compiler checks configurations with it, and editors use it for
 * completion.
 */
export const CONFIG_SCHEMA: JsonSchema = object(
  {
    $schema: text(
      'The path of this schema, for editors. The service ignores it.',
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
      description: 'The collections by name. Each is served at /<name>. "users" contains the accounts.',
      ...examples({ notes: { schema: { text: { type: 'string' } }, permissions: { user: true } } }),
    }),
    auth: AUTH,
    limits: LIMITS,
    migrations: {
      type: 'array',
      items: { type: 'string', pattern: MIGRATION_NAME },
      uniqueItems: true,
      description:
        'The names of the migrations of stored documents, in their order. Their code is in modules.',
      ...examples(['2026-11-minutes', '2026-12-split-comments']),
    },
  },
  { required: ['collections'], $defs: { ...DEFINITIONS, grant: GRANT } },
)

/** Returns the content of the published file `config.schema.json`. */
export const publishedConfigSchema = (): JsonSchema => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Configuration of collection-service',
  description: 'Collections, their schemas and their permissions.',
  ...CONFIG_SCHEMA,
})
