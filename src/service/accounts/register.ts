import { issueSession } from '../../auth/sessions.js'
import type { AuthPlan } from '../../config/plan.js'
import { bindingOf } from '../../permissions/caller.js'
import { ALL_PROPERTIES, EVERYONE, type Rule } from '../../permissions/grants.js'
import { listIgnored } from '../../permissions/ignored-properties.js'
import { acceptsProperty, keepProperties } from '../../permissions/write-rules.js'
import { ANYWHERE } from '../../query/where.js'
import { runSliced } from '../../slices.js'
import type { JsonObject } from '../../types.js'
import { refused, registrationClosed } from '../authorize.js'
import type { RequestScope, ServiceContext } from '../context.js'
import { buildDocument, createSystemFields, storeNew, withNewId } from '../write/create-document.js'
import { findReferable, judgeReferences } from '../write/references.js'
import { applyRule, type Ignoring, invalid } from '../write/rules/apply-rule.js'
import { readStamp } from '../write/stored-document.js'
import { checkDocumentSize } from '../write/written.js'
import { type SignedIn, showAccount } from './account.js'

/** Throws `forbidden` where strangers may not register. */
export function authorizeRegistration(auth: AuthPlan): void {
  if (!auth.register) throw registrationClosed()
}

/** A new account, signed in. */
export interface Registered extends Ignoring {
  readonly account: SignedIn
}

/**
 * Creates an account (CONTRACT.md §4, "Registration"). Throws `validation_failed`, `forbidden` where a `check` fails,
 * `document_too_large`, `unique_violation`, `overloaded`.
 */
export async function register(
  context: ServiceContext,
  scope: RequestScope,
  auth: AuthPlan,
  body: JsonObject,
): Promise<Registered> {
  const { users } = auth
  const required = [auth.identifier.name, auth.secret.name]
  const rule = users.permissions.create.get(EVERYONE) ?? NO_PROPERTIES
  // The role is out of a stranger's reach, even where `pick` names it.
  const accepts = (name: string): boolean =>
    required.includes(name) || (name !== users.roleField && acceptsProperty(rule, name, users.roleField))
  const kept = keepProperties(body, accepts, rule.set)
  return withNewId(context, async (id) => {
    const system = createSystemFields(context, users, null, id)
    const referable = await findReferable(
      context,
      scope,
      { collection: users, caller: null, rules: [rule] },
      [body],
    )
    const draft = {
      system,
      binding: bindingOf(null, context.clock),
      required,
      judgeReferences: (fields: JsonObject) => judgeReferences(users, {}, fields, referable),
    }
    const applied = await runSliced(
      (slice) => applyRule(users, rule, kept.body, { ...draft, slice }),
      () => scope.signal,
    )
    if (applied.kind === 'invalid') throw invalid(applied.faults)
    if (applied.kind === 'refused') throw refused()
    const user = await buildDocument(context, scope, users, system, applied.fields)
    const shown = showAccount(context, auth, user)
    const unread = Object.entries(applied.given).filter(([name]) => !Object.hasOwn(shown, name))
    checkDocumentSize(context.plan.limits.documentBytes, JSON.stringify(shown), Object.fromEntries(unread))
    const session = issueSession(id, readStamp(user), context.now(), auth.sessionMilliseconds)
    const stored = await storeNew(context, scope, users, user, [session.step])
    if (!stored) return undefined
    return { account: { user: shown, ...session.issued }, ignored: listIgnored(body, kept.body) }
  })
}

const NO_PROPERTIES: Rule = {
  subject: EVERYONE,
  properties: { ...ALL_PROPERTIES, pick: new Set() },
  where: ANYWHERE,
  check: ANYWHERE,
  set: new Map(),
  acceptsRole: false,
}
