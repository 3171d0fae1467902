import { FIELD_NAMES } from '../../fields/names.js'
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
import { COLLECTION_NAME, RESERVED_COLLECTION_NAMES } from '../../schema/names.js'
import { AUTH } from './auth-schema.js'
import { DEFINITIONS } from './definition-schema.js'
import { LIMITS } from './limits-schema.js'

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

/** PostgreSQL has 32 columns in an index, of which the `_id` is one. */
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

/** The JSON Schema of `config.json`: the compiler checks against it, and an editor completes by it. */
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

/** The content of the shipped file `config.schema.json`. */
export const publishedConfigSchema = (): JsonSchema => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Configuration of collection-service',
  description: 'Collections, their schemas and who may do what with them.',
  ...CONFIG_SCHEMA,
})
