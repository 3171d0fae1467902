import type { AuthPlan } from '../../../core/config/plan.js'
import type { ErrorCode } from '../../../core/errors.js'
import type { JsonSchema } from '../../../core/json/json-schema.js'
import { MAX_SESSIONS } from '../../../core/query/paging/session-page.js'
import { ruleToRegister } from '../../../core/request/authorize.js'
import type { HeaderName } from '../headers.js'
import { describeBody } from '../schemas/bodies.js'
import { describeShown, isOpen } from '../schemas/documents.js'
import { describeValue } from '../schemas/value-schema.js'
import { type DescriptionScope, findCookie, SYSTEM, valueOptions } from '../scope.js'
import {
  answer,
  type DescribeOperation,
  emptyAnswer,
  NOTHING,
  OF_IGNORING,
  type OperationDescription,
  type OperationPlace,
  PREFER,
  PREFER_COOKIE,
} from './operation.js'

/**
 * The schema of an account as its owner may read it. The owner may be able to read fields that the reader may not. The
 * schema must not name these fields, so it allows additional properties.
 */
const referToAccount = (scope: DescriptionScope, auth: AuthPlan): JsonSchema =>
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
const referToSignedIn = (scope: DescriptionScope, auth: AuthPlan): JsonSchema =>
  scope.components.refer('schemas', 'service.signed-in', () => ({
    type: 'object',
    properties: {
      user: referToAccount(scope, auth),
      token: { type: 'string', description: 'Send it as `Authorization: Bearer <token>`.' },
      expiresAt: { type: 'string', format: 'date-time' },
    },
    required: ['user', ...(findCookie(scope.service) ? [] : ['token']), 'expiresAt'],
    additionalProperties: false,
  }))

/** Describes the body of a registration; `undefined` if no registration can succeed. */
function describeRegistration(scope: DescriptionScope, auth: AuthPlan): JsonSchema | undefined {
  const { users, identifier, secret } = auth
  return describeBody(scope, {
    collection: users,
    use: 'create',
    // A registration never sets the role.
    rules: [{ ...ruleToRegister(auth), acceptsRole: false }],
    always: [identifier.name, secret.name],
  })
}

const SESSIONS: JsonSchema = {
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

const SESSION = { asker: 'session', problems: ['unauthenticated'] } as const

/** Describes the request body of an account route. `known` has more specific schemas for some members. */
function describeMembers(
  { service }: DescriptionScope,
  { endpoint }: OperationPlace,
  known: { readonly [name: string]: JsonSchema } = {},
): JsonSchema {
  const { properties, ...schema } = endpoint.envelope?.(service) ?? { properties: {} }
  return { ...schema, properties: { ...properties, ...known } }
}

/** Describes the member `new`: a new secret or a new identifier. */
const describeNew = (
  scope: DescriptionScope,
  { users, ...auth }: AuthPlan,
  name: 'secret' | 'identifier',
) => ({
  new: describeValue(auth[name], valueOptions(scope, users, 'element')),
})

const signsIn = (
  scope: DescriptionScope,
  { auth, endpoint }: OperationPlace,
  operation: Omit<OperationDescription, 'answers'>,
): OperationDescription => ({
  ...operation,
  ...(findCookie(scope.service) && endpoint.ignoresCookie ? { parameters: [PREFER_COOKIE] } : {}),
  answers: { 200: answer(scope, 'Signed in.', referToSignedIn(scope, auth), ofCookie(scope)) },
})

/** The response headers of requests that begin a session. */
const ofCookie = ({ service }: DescriptionScope): readonly HeaderName[] =>
  findCookie(service) ? ['Set-Cookie'] : []

const register: DescribeOperation = (scope, { auth }) => {
  const body = describeRegistration(scope, auth)
  return (
    body && {
      summary: 'Creates an account',
      parameters: [PREFER],
      body: scope.components.refer('schemas', 'service.registration', () => body),
      answers: auth.requiresVerified
        ? {
            202: answer(
              scope,
              'Accepted. The response is the same for new and existing accounts.',
              NOTHING,
              OF_IGNORING,
            ),
          }
        : {
            201: answer(scope, 'Signed in.', referToSignedIn(scope, auth), [
              ...OF_IGNORING,
              ...ofCookie(scope),
            ]),
          },
      problems: ['forbidden', 'unique_violation', 'document_too_large', 'outcome_unknown', 'refused'],
    }
  )
}

const login: DescribeOperation = (scope, place) =>
  signsIn(scope, place, {
    summary: 'Signs in',
    body: describeMembers(scope, place),
    problems: ['invalid_credentials', 'too_many_attempts', 'outcome_unknown'],
  })

/** The error codes of requests that set a secret or an identifier. */
const OF_SECRETS: readonly ErrorCode[] = [
  'invalid_credentials',
  'too_many_attempts',
  'outcome_unknown',
  'refused',
]

const changeSecret: DescribeOperation = (scope, place) =>
  signsIn(scope, place, {
    summary: 'Changes the secret and ends all other sessions',
    body: describeMembers(scope, place, describeNew(scope, place.auth, 'secret')),
    asker: 'session',
    problems: ['unauthenticated', 'document_too_large', ...OF_SECRETS],
  })

const requesting =
  (summary: string): DescribeOperation =>
  (scope, place) => ({
    summary,
    body: describeMembers(scope, place),
    answers: {
      202: answer(scope, 'Accepted. The response is the same for existing and unknown accounts.', NOTHING),
    },
    problems: ['too_many_attempts', 'outcome_unknown'],
  })

const reset: DescribeOperation = (scope, place) =>
  signsIn(scope, place, {
    summary: 'Sets a new secret with a delivered token',
    body: describeMembers(scope, place, describeNew(scope, place.auth, 'secret')),
    problems: ['invalid_delivered_token', 'document_too_large', 'reference_in_use', ...OF_SECRETS],
  })

const verify: DescribeOperation = (scope, place) => ({
  summary: 'Verifies the identifier with a delivered token',
  body: describeMembers(scope, place),
  answers: { 204: emptyAnswer(scope, 'The identifier is verified.') },
  problems: ['invalid_delivered_token', 'document_too_large', 'reference_in_use', ...OF_SECRETS],
})

const changeIdentifier: DescribeOperation = (scope, place) =>
  // A request to change an immutable identifier would be accepted, but the change could never succeed.
  place.auth.identifier.definition.immutable
    ? undefined
    : {
        summary: 'Requests a change of the identifier',
        body: describeMembers(scope, place, describeNew(scope, place.auth, 'identifier')),
        answers: { 202: answer(scope, 'A token is sent to the new identifier.', NOTHING) },
        asker: 'session',
        problems: ['unauthenticated', ...OF_SECRETS],
      }

const leaving =
  (summary: string): DescribeOperation =>
  (scope) => ({
    summary,
    answers: { 204: emptyAnswer(scope, 'Signed out.') },
    asker: 'session',
    problems: ['unauthenticated', 'outcome_unknown'],
  })

const me: DescribeOperation = (scope, { auth }) => ({
  summary: "Reads the caller's own account",
  answers: { 200: answer(scope, 'The account.', referToAccount(scope, auth)) },
  ...SESSION,
})

/** The query parameters of the list of sessions. */
const PAGE: readonly JsonSchema[] = [
  {
    name: 'after',
    in: 'query',
    schema: { type: 'string' },
    description: 'The `Next-Cursor` of the previous page.',
  },
  {
    name: 'limit',
    in: 'query',
    schema: { type: 'integer', minimum: 0, maximum: MAX_SESSIONS },
    description: `The maximum number of sessions. Default: ${MAX_SESSIONS}.`,
  },
]

const sessions: DescribeOperation = (scope) => ({
  summary: "Lists the caller's sessions",
  parameters: PAGE,
  answers: { 200: answer(scope, 'A page of the sessions.', SESSIONS, ['Next-Cursor', 'Link']) },
  ...SESSION,
})

const endSession: DescribeOperation = (scope) => ({
  summary: "Ends one of the caller's sessions",
  answers: { 204: emptyAnswer(scope, 'The session has ended.') },
  asker: 'session',
  problems: ['unauthenticated', 'not_found', 'outcome_unknown'],
})

/** The operations on accounts, by name. */
export const OF_ACCOUNTS: { readonly [name: string]: DescribeOperation } = {
  register,
  login,
  reset,
  verify,
  me,
  sessions,
  'change-secret': changeSecret,
  'change-identifier': changeIdentifier,
  'request-reset': requesting('Requests a token that resets the secret'),
  'request-verification': requesting('Requests a token that verifies the identifier'),
  logout: leaving('Ends the session of this token'),
  'logout-all': leaving('Ends all sessions of the caller'),
  'end-session': endSession,
}
