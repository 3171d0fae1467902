import type { AuthPlan } from '../../config/plan.js'
import type { JsonSchema } from '../../json/json-schema.js'
import { ruleToRegister } from '../../service/authorize.js'
import { type DescriptionScope, SYSTEM, valueOptions } from '../scope.js'
import { describeBody } from './bodies.js'
import { describeShown, isOpen } from './documents.js'
import { describeValue } from './value-schema.js'

/**
 * The schema of an account as its owner may read it. An owner other than the reader may see more fields, which a
 * description for the reader must not name: then the schema is left open.
 */
export const referToAccount = (scope: DescriptionScope, auth: AuthPlan): JsonSchema =>
  scope.components.refer('schemas', 'service.account', () => {
    const { users, identifier } = auth
    const options = valueOptions(scope, users, 'answer')
    const shown = describeShown(scope, users)
    const always = [identifier, ...SYSTEM].map((field) => [
      field.name,
      shown[field.name] ?? describeValue(field, options),
    ])
    return {
      type: 'object',
      properties: {
        _id: { type: 'string' },
        ...shown,
        ...Object.fromEntries(always),
        createdBy: { type: ['string', 'null'] },
      },
      required: ['_id'],
      additionalProperties: scope.reader !== undefined || isOpen(scope, users),
    }
  })

/** The schema of the response to a login. */
export const referToSignedIn = (scope: DescriptionScope, auth: AuthPlan): JsonSchema =>
  scope.components.refer('schemas', 'service.signed-in', () => ({
    type: 'object',
    properties: {
      user: referToAccount(scope, auth),
      token: { type: 'string', description: 'For `Authorization: Bearer <token>`.' },
      expiresAt: { type: 'string', format: 'date-time' },
    },
    required: ['user', 'token', 'expiresAt'],
    additionalProperties: false,
  }))

/** The schema of the body of a registration; `undefined` if none can succeed. */
export function describeRegistration(scope: DescriptionScope, auth: AuthPlan): JsonSchema | undefined {
  const { users, identifier, secret } = auth
  return describeBody(scope, {
    collection: users,
    use: 'create',
    // A registration never sets the role.
    rules: [{ ...ruleToRegister(auth), acceptsRole: false }],
    always: [identifier.name, secret.name],
  })
}

/** The schema of a list of sessions. */
export const SESSIONS: JsonSchema = {
  type: 'array',
  items: {
    type: 'object',
    properties: {
      _id: { type: 'string' },
      createdAt: { type: 'string', format: 'date-time' },
      expiresAt: { type: 'string', format: 'date-time' },
      isCurrent: { type: 'boolean' },
    },
    required: ['_id', 'createdAt', 'expiresAt', 'isCurrent'],
    additionalProperties: false,
  },
}
