import {
  expiredSessions,
  type IssuedSession,
  readSession,
  SESSIONS,
  sessionFilter,
  sessionsOf,
} from '../../auth/sessions.js'
import { createStamp, digestToken, isToken } from '../../auth/token.js'
import type { AuthPlan } from '../../config/plan.js'
import { ServiceError } from '../../errors.js'
import { or } from '../../filter/filter.js'
import { readOwn } from '../../json/own-properties.js'
import type { KnownCaller } from '../../permissions/caller.js'
import { SYSTEM_FIELDS } from '../../schema/names.js'
import type { StoredDocument, WriteStep } from '../../storage.js'
import type { Document, JsonObject } from '../../types.js'
import type { RequestScope, ServiceContext } from '../context.js'
import { findById, findOne, lazySignal, listStored } from '../find-documents.js'
import { readStamp, renewStamp } from '../write/stored-document.js'

/** A user and a new session. */
export interface SignedIn extends IssuedSession {
  readonly user: Document
}

/** Who a token stands for. */
export interface Session {
  readonly id: string
  readonly stored: StoredDocument
  readonly user: StoredDocument
  readonly caller: KnownCaller
}

/**
 * The session of a token. Throws `invalid_token` for any but a living one that holds the stamp of a user who exists:
 * with a new secret the stamp is another, and all sessions from before count no more.
 */
export async function findSession(
  context: ServiceContext,
  scope: RequestScope,
  auth: AuthPlan,
  token: string,
): Promise<Session> {
  if (!isToken(token)) throw invalidToken()
  const id = digestToken(token)
  const stored = await findOne(context, scope, SESSIONS, sessionFilter(id))
  const session = stored && readSession(stored, context.now())
  const user = session && (await findById(context, scope, auth.users.name, session.userId))
  if (!user || !stored || readStamp(user) !== session.stamp) throw invalidToken()
  return { id, stored, user, caller: callerOf(auth, user) }
}

/** A session as it is stored now. Throws `invalid_token` where it is no more. */
export async function refreshSession(
  context: ServiceContext,
  scope: RequestScope,
  session: Session,
): Promise<Session> {
  const stored = await findOne(context, scope, SESSIONS, sessionFilter(session.id))
  if (!stored) throw invalidToken()
  return { ...session, stored }
}

export const invalidToken = (): ServiceError =>
  new ServiceError('invalid_token', 'The token is malformed, expired or ended. Sign in again.')

/** Ends one session at once. */
export async function endSession(context: ServiceContext, scope: RequestScope, id: string): Promise<void> {
  scope.enter('write')
  await context.adapter.write([{ in: SESSIONS, remove: sessionFilter(id) }], lazySignal(scope))
}

/** How often a user is read again when somebody else writes at the same time. */
const MAX_ATTEMPTS = 10

/**
 * Ends all sessions of a user at once. The stamp is renewed in the same write, so that a login under way, which has
 * read the old one, opens no session that lives. Throws `overloaded` where others keep writing the user.
 */
export async function endAllSessions(
  context: ServiceContext,
  scope: RequestScope,
  auth: AuthPlan,
  { user: { _id } }: Session,
): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const user = await findById(context, scope, auth.users.name, _id)
    if (!user) return
    scope.enter('write')
    const { ok } = await context.adapter.write(
      [
        { in: auth.users.name, replace: renewStamp(user, createStamp()), version: user._version },
        { in: SESSIONS, remove: sessionsOf(_id) },
      ],
      lazySignal(scope),
    )
    if (ok) return
  }
  throw new ServiceError('overloaded', 'The account is being written by others. Try again.')
}

/** At most so many sessions are cleared away with one that is opened. */
const MAX_EXPIRED = 100

/** The steps that clear expired sessions away in passing. */
export async function removeExpired(
  context: ServiceContext,
  scope: RequestScope,
): Promise<readonly WriteStep[]> {
  const expired = await listStored(context, scope, SESSIONS, {
    filter: expiredSessions(context.clock()),
    sort: [],
    skip: 0,
    limit: MAX_EXPIRED,
  })
  if (expired.length === 0) return []
  return [{ in: SESSIONS, remove: or(expired.map(({ _id }) => sessionFilter(_id))) }]
}

/** A user as a caller: the roles are what the role field holds. */
function callerOf({ users }: AuthPlan, user: StoredDocument): KnownCaller {
  const held = users.roleField === null ? undefined : readOwn(user, users.roleField)
  // What is not of the declared type counts as missing: a role above all.
  const isList = users.fields.some(({ name, type }) => name === users.roleField && type === 'array')
  const roles = isList ? (Array.isArray(held) ? held : []) : [held]
  const own = users.fields.filter(({ type, name }) => type !== 'hash' && Object.hasOwn(user, name))
  const names = [...own.map(({ name }) => name), ...SYSTEM_FIELDS]
  return {
    id: user._id,
    roles: roles.filter((role) => typeof role === 'string'),
    fields: Object.fromEntries(names.map((name) => [name, user[name]])),
  }
}

/** A user document as its owner may read it, and always `_id`, the identifier and the system fields. */
export function showAccount(context: ServiceContext, auth: AuthPlan, user: StoredDocument): Document {
  const access = context.gates.get(auth.users.name)?.(callerOf(auth, user), context.clock)
  const shown: JsonObject = access?.isReadable(user) ? access.show(user) : {}
  const always = [auth.identifier.name, ...SYSTEM_FIELDS]
  const declared = auth.users.fields.map(({ name }) => name)
  const order = ['_id', ...declared, ...Object.keys(shown), ...SYSTEM_FIELDS]
  const entries = [...new Set(order)].flatMap((name): [string, unknown][] => {
    if (Object.hasOwn(shown, name)) return [[name, shown[name]]]
    return always.includes(name) && Object.hasOwn(user, name) ? [[name, user[name]]] : []
  })
  return { _id: user._id, ...Object.fromEntries(entries) }
}
