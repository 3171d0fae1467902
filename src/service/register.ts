import { issueSession } from '../auth/sessions.js'
import type { AuthPlan } from '../config/plan.js'
import { everything } from '../filter/filter.js'
import type { JsonObject } from '../filter/read-path.js'
import { ALL_PROPERTIES, EVERYONE, type Rule } from '../permissions/grants.js'
import { acceptsProperty, keepProperties } from '../permissions/write-rules.js'
import { type SignedIn, showAccount } from './account.js'
import { registrationClosed } from './authorize.js'
import type { RequestScope, ServiceContext } from './context.js'
import { buildDocument, completeBody, hashSecrets, readClock, storeNew } from './create-document.js'

/** Throws `forbidden` where strangers may not register. */
export function authorizeRegistration(auth: AuthPlan): void {
  if (!auth.register) throw registrationClosed()
}

/** Creates an account (contract §4, "Registration"). Throws `validation_failed`, `unique_violation`, `overloaded`. */
export async function register(
  context: ServiceContext,
  scope: RequestScope,
  auth: AuthPlan,
  body: JsonObject,
): Promise<SignedIn> {
  const now = readClock(context)
  const credentials = [auth.identifier.name, auth.secret.name]
  const { users } = auth
  const rule = users.permissions.create.get(EVERYONE) ?? NO_PROPERTIES
  // The role is out of a stranger's reach, even where `pick` names it.
  const kept = keepProperties(
    body,
    (name) =>
      credentials.includes(name) ||
      (name !== users.roleField && acceptsProperty(rule, name, users.roleField)),
  )
  const complete = completeBody(users, kept.body, now, credentials)
  const hashes = await hashSecrets(context, scope, users, complete)
  const { document, issued } = await storeNew(context, scope, users, (id) => {
    const session = issueSession(id, context.now(), auth.sessionMilliseconds)
    return {
      document: buildDocument(context, users, null, id, now, hashes),
      others: [session.step],
      issued: session.issued,
    }
  })
  return { user: showAccount(context, auth, document), ...issued }
}

const NO_PROPERTIES: Rule = {
  subject: EVERYONE,
  properties: { ...ALL_PROPERTIES, pick: new Set() },
  where: everything,
  acceptsRole: false,
}
