import { issueSession } from '../../auth/sessions.js'
import type { AuthPlan } from '../../config/plan.js'
import { ALL_PROPERTIES, EVERYONE, type Rule } from '../../permissions/grants.js'
import { listIgnored } from '../../permissions/ignored-properties.js'
import { acceptsProperty, keepProperties } from '../../permissions/write-rules.js'
import { ANYWHERE } from '../../query/where.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import { type Call, createCall, runWithin } from '../call.js'
import { invalid, refused } from '../refusals.js'
import type { Attempt } from '../store.js'
import { buildDocument, createSystemFields, planInsert } from '../write/new-document.js'
import { findReferable, judgeReferences } from '../write/references.js'
import { applyCreate } from '../write/rules/apply-create.js'
import type { Ignoring } from '../write/rules/choose-rule.js'
import { readStamp } from '../write/stored-document.js'
import { checkDocumentSize } from '../write/written.js'
import { showAccount } from './account.js'
import type { SignedIn } from './login.js'

/** A new account, signed in. */
export interface Registered extends Ignoring {
  readonly account: SignedIn
}

/**
 * Creates an account with the rights of an anonymous caller, also for a caller who is signed in (CONTRACT.md
 * §4, "Registration"). Throws `validation_failed`, `forbidden` where a `check` fails, `document_too_large`,
 * `unique_violation`, `overloaded`.
 */
export function register(call: Call, auth: AuthPlan, body: JsonObject): MaybePromise<Registered> {
  const stranger = createCall(call.service, { ...call, caller: null, session: undefined })
  return call.store.write(() => planRegistration(stranger, auth, body))
}

async function planRegistration(call: Call, auth: AuthPlan, body: JsonObject): Promise<Attempt<Registered>> {
  const { service } = call
  const { users } = auth
  const required = [auth.identifier.name, auth.secret.name]
  const rule = users.permissions.create.get(EVERYONE) ?? NO_PROPERTIES
  // Nobody may choose the own role at registration, even where `pick` names it.
  const accepts = (name: string): boolean =>
    required.includes(name) || (name !== users.roleField && acceptsProperty(rule, name, users.roleField))
  const kept = keepProperties(body, accepts, rule.set)
  const system = createSystemFields(call, users, service.createId())
  const referable = await findReferable(call, { collection: users, rules: [rule] }, [body])
  const draft = {
    ...{ system, required },
    judgeReferences: (fields: JsonObject) => judgeReferences(users, {}, fields, referable),
  }
  const trial = { collection: users, rule, kept }
  const applied = await runWithin(call, (slice) => applyCreate(call, trial, { ...draft, slice }))
  if (applied.kind === 'invalid') throw invalid(applied.faults)
  if (applied.kind === 'refused') throw refused()
  const user = await buildDocument(call, users, { system, fields: applied.fields })
  const shown = showAccount(service, auth, user)
  const unread = Object.entries(applied.given).filter(([name]) => !Object.hasOwn(shown, name))
  checkDocumentSize(call, { text: JSON.stringify(shown), unread: Object.fromEntries(unread) })
  const session = issueSession(user._id, readStamp(user), service.now(), auth.sessionMilliseconds)
  return {
    ...planInsert(users, user, [session.step]),
    done: { account: { user: shown, ...session.issued }, ignored: listIgnored(body, kept.body) },
  }
}

const NO_PROPERTIES: Rule = {
  subject: EVERYONE,
  properties: { ...ALL_PROPERTIES, pick: new Set() },
  where: ANYWHERE,
  check: ANYWHERE,
  set: new Map(),
  acceptsRole: false,
}
