import { type IssuedSession, readSession, SESSIONS, sessionFilter } from '../auth/sessions.js'
import { digestToken, isToken } from '../auth/token.js'
import type { AuthPlan } from '../config/plan.js'
import { ServiceError } from '../errors.js'
import { type JsonObject, readOwn } from '../filter/read-path.js'
import { SYSTEM_FIELDS } from '../schema/names.js'
import type { StoredDocument } from '../storage.js'
import type { Caller, Document } from '../types.js'
import type { RequestScope, ServiceContext } from './context.js'
import { findById, findOne, lazySignal } from './list-documents.js'

/** A user and a new session. */
export interface SignedIn extends IssuedSession {
  readonly user: Document
}

/** Who a token stands for. */
export interface Session {
  readonly id: string
  readonly user: StoredDocument
  readonly caller: Caller
}

/** The session of a token. Throws `invalid_token` for any but a living one whose user exists. */
export async function findSession(
  context: ServiceContext,
  scope: RequestScope,
  auth: AuthPlan,
  token: string,
): Promise<Session> {
  if (!isToken(token)) throw invalidToken()
  const id = digestToken(token)
  const session = await findOne(context, scope, SESSIONS, { filter: sessionFilter(id) })
  const userId = session && readSession(session, context.now())
  const user = userId && (await findById(context, scope, auth.users.name, userId))
  if (!user) throw invalidToken()
  return { id, user, caller: callerOf(auth, user) }
}

export const invalidToken = (): ServiceError =>
  new ServiceError('invalid_token', 'The token is malformed, expired or ended. Sign in again.')

/** Ends one session at once. */
export async function endSession(context: ServiceContext, scope: RequestScope, id: string): Promise<void> {
  scope.enter('write')
  await context.adapter.write([{ in: SESSIONS, remove: sessionFilter(id) }], lazySignal(scope))
}

/** A user as a caller: the role is what the role field holds. */
function callerOf({ users }: AuthPlan, user: StoredDocument): Caller {
  const role = users.roleField === null ? undefined : readOwn(user, users.roleField)
  return { id: user._id, roles: typeof role === 'string' ? [role] : [] }
}

/** A user document as its owner may read it, and always `_id`, the identifier and the system fields. */
export function showAccount(context: ServiceContext, auth: AuthPlan, user: StoredDocument): Document {
  const access = context.gates.get(auth.users.name)?.(callerOf(auth, user))
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
