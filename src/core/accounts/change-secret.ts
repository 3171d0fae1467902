import type { AuthPlan } from '../config/plan.js'
import { planNextVersion } from '../documents/write/plan-write.js'
import { hashSecrets } from '../documents/write/stages/secrets.js'
import { type HashChanges, readFields, readStamp } from '../documents/write/stored-document.js'
import { whereHooked } from '../hooks/where-hooked.js'
import { steadily } from '../request/authorize.js'
import type { Call } from '../request/call.js'
import { invalidToken } from '../request/refusals.js'
import type { Attempt } from '../request/store/attempt.js'
import type { StoredDocument, WriteStep } from '../storage.js'
import type { JsonObject } from '../types.js'
import { issueSession, SESSIONS, type Session } from './auth/sessions.js'
import { createStamp } from './auth/token.js'
import { endSessions } from './end-sessions.js'
import { invalidCredentials, type OwnSecret, type SignedIn, verifyOwn } from './login.js'
import { showAccount, showAgain } from './show-account.js'

/**
 * Changes the secret of a caller who knows the current one. The same write ends all sessions and opens a new one
 * (CONTRACT.md §4, "Changing the secret"). Throws `invalid_credentials` for a wrong current secret, which counts as a
 * failed login, or after a concurrent change of the secret; `too_many_attempts`; `invalid_token` if the session has
 * ended; and `overloaded`.
 */
export async function changeSecret(
  call: Call,
  auth: AuthPlan,
  session: Session,
  { next, ...proof }: Omit<OwnSecret, 'session'> & { readonly next: string },
): Promise<SignedIn> {
  const { users, secret } = auth
  await verifyOwn(call, auth, { session, ...proof })
  const hashes = await hashSecrets(call, [[secret.name, next]])
  const plan = (own: Call) => planChange(own, auth, session, hashes)
  const run = (own: Call) => own.store.write(() => steadily(own, plan))
  return whereHooked(call, users, run, showAgain(auth))
}

async function planChange(
  call: Call,
  auth: AuthPlan,
  session: Session,
  hashes: HashChanges,
): Promise<Attempt<SignedIn>> {
  const user = await call.store.own(auth.users.name).find(session.user._id)
  if (!user) throw invalidToken()
  // Another request has changed the secret, in this session or in another session.
  if (readStamp(user) !== readStamp(session.user)) throw invalidCredentials()
  const planned = await planNewSecret(call, auth, user, { fields: readFields(user), hashes })
  return { ...planned, steps: [{ in: SESSIONS, require: session.id }, ...planned.steps] }
}

/** The changes to an account that gets a new secret. */
interface NewSecret {
  readonly fields: JsonObject
  readonly hashes: HashChanges
  /** Further steps of the write, after those of the account. Default: none. */
  readonly others?: readonly WriteStep[]
}

/** Plans the write of a new secret, which ends all sessions of the account and opens a new one. */
export async function planNewSecret(
  call: Call,
  auth: AuthPlan,
  user: StoredDocument,
  { fields, hashes, others = [] }: NewSecret,
): Promise<Attempt<SignedIn>> {
  const { service, deadline } = call
  const stamp = createStamp()
  const changed = { fields, hashes, stamp, now: service.clock() }
  const { document, ...planned } = await planNextVersion(call, auth.users, user, changed)
  const { issued, step } = issueSession(user._id, stamp, service.now(), auth.sessionMilliseconds)
  const ending = await endSessions(service, { auth, deadline }, [user._id])
  return {
    ...planned,
    steps: [...planned.steps, ...others, ...ending.steps, step],
    after: ending.after,
    done: { user: await showAccount(call, auth, document), ...issued },
  }
}
