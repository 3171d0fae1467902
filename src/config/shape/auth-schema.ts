import { examples, flag, object, text, withDefault } from '../../fields/schema-parts.js'
import type { JsonSchema } from '../../json/json-schema.js'
import { DEFAULT_AUTH } from '../defaults.js'
import { CLAIMS } from './claims-schema.js'

/** The JSON Schema of `auth`. */
export const AUTH: JsonSchema = object(
  {
    identifier: text(
      'The unique string field of "users" that names an account. Needed where there are several.',
      'email',
    ),
    secret: text(
      'The hash field of "users" that opens an account. Needed where there are several.',
      'password',
    ),
    roleField: text(
      'The field of "users" that holds the role, or an array of roles. Without it: nobody has a role.',
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
      description: 'Sessions of an account: a login beyond them ends the oldest.',
      ...examples(20),
    }),
    cost: withDefault(DEFAULT_AUTH.cost, {
      type: 'integer',
      minimum: 10,
      maximum: 15,
      description: 'The cost of a bcrypt hash: each step doubles the time that one takes.',
      ...examples(12),
    }),
    verifiedField: withDefault(null, {
      type: ['string', 'null'],
      description:
        'The timestamp of "users" that says since when the identifier is verified; the service alone writes it. null: none is verified.',
      ...examples('verifiedAt'),
    }),
    requireVerified: flag(
      'An account counts only once its identifier is verified, and nobody can find out whether an identifier is taken. Needs verifiedField, and the option deliver.',
      DEFAULT_AUTH.requireVerified,
    ),
    resetMinutes: withDefault(DEFAULT_AUTH.resetMinutes, {
      type: 'number',
      exclusiveMinimum: 0,
      maximum: 1440,
      description: 'Minutes for which a token for a new secret counts.',
      ...examples(30),
    }),
    claims: withDefault({}, CLAIMS),
  },
  {
    description: 'Accounts: there are some where "users" has a hash field.',
    ...examples({ roleField: 'role', register: false }),
  },
)
