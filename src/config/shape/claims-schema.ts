import { FIELD_NAME, RESERVED_FIELD_NAMES } from '../../fields/names.js'
import { examples, mapOf, object, text } from '../../fields/schema-parts.js'
import type { JsonSchema } from '../../json/json-schema.js'

/** Names that `$user.<name>` reserves for the caller of a host. */
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
export const CLAIMS: JsonSchema = mapOf(CLAIM, {
  names: { pattern: FIELD_NAME, not: { enum: [...RESERVED_FIELD_NAMES, ...TAKEN] } },
  description:
    'Claims: values of a caller that come from other documents, by name; { "team": { "$in": "$user.<name>" } } in a rule.',
  ...examples({
    adminOf: { from: 'memberships', where: { user: '$user._id', role: 'admin' }, take: 'team' },
  }),
})
