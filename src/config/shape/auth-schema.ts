import { examples, flag, object, text, withDefault } from '../../fields/schema-parts.js'
import type { JsonSchema } from '../../json/json-schema.js'
import { DEFAULT_AUTH } from '../defaults.js'
import { CLAIMS } from './claims-schema.js'

/** The JSON Schema of `auth`. */
export const AUTH: JsonSchema = object(
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
