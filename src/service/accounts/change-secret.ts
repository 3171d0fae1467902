import { issueSession, SESSIONS, type Session, sessionsOf } from '../../auth/sessions.js'
import { createStamp } from '../../auth/token.js'
import type { AuthPlan } from '../../config/plan.js'
import type { Fault } from '../../errors.js'
import { readOwn } from '../../json/own-properties.js'
import { toPointerPart } from '../../json/pointer.js'
import type { Call } from '../call.js'
import { type Settled, whereHooked } from '../hooks.js'
import { invalidToken } from '../refusals.js'
import type { Attempt } from '../store.js'
import { hashSecrets } from '../write/hash-secrets.js'
import { readFields, readStamp, updateStoredDocument } from '../write/stored-document.js'
import { askUpdateHook, planReplace } from '../write/update-document.js'
import { showAccount, showAgain } from './account.js'
import { type SignedIn, verifySecret } from './login.js'

/** The faults of a new secret, whose place in the body is `/new`. */
export function judgeSecret({ users, secret }: AuthPlan, value: string): readonly Fault[] {
  const at = toPointerPart(secret.name)
  return users
    .validate({ [secret.name]: value }, { isRelevant: ({ path }) => path === at })
    .map((fault) => ({ ...fault, path: '/new' }))
}

/** A change of the caller's own secret. */
export interface SecretChange {
  readonly current: string
  readonly next: string
  /** The client's address; `undefined` where it is not known. */
  readonly client: string | undefined
}

/**
 * Changes the secret of a caller who knows the present one, ends all sessions in the same write and opens a
 * new one (CONTRACT.md §4, "Changing the secret"). Throws `invalid_credentials` for a wrong present secret,
 * which counts as a failed login, `too_many_attempts`, `invalid_token` where the session has ended meanwhile,
 * and `overloaded`.
 */
export async function changeSecret(
  call: Call,
  auth: AuthPlan,
  session: Session,
  { current, next, client }: SecretChange,
): Promise<SignedIn> {
  const { service } = call
  const { users, identifier, secret } = auth
  const named = String(readOwn(session.user, identifier.name) ?? session.user._id)
  const from = { identifier: named, client }
  await service.throttle.run(call, from, () => verifySecret(call, auth, session.user, current))
  const hashes = await hashSecrets(call, [[secret.name, next]])
  const run = (own: Call) => own.store.write(() => planChange(own, auth, session, hashes))
  return whereHooked(call, users, run, showAgain(auth))
}

async function planChange(
  call: Call,
  auth: AuthPlan,
  session: Session,
  hashes: ReadonlyMap<string, string | null>,
): Promise<Attempt<SignedIn>> {
  const { service, store } = call
  const { users } = auth
  const user = await store.own(users.name).find(session.user._id)
  // Another secret came first: that ended this session.
  if (!user || readStamp(user) !== readStamp(session.user)) throw invalidToken()
  const planned = { fields: readFields(user), now: service.clock() }
  const { fields, behind }: Settled = await (askUpdateHook(call, users, user, planned) ?? planned)
  const stamp = createStamp()
  const replace = updateStoredDocument(user, fields, planned.now, { hashes, stamp })
  const { issued, step } = issueSession(user._id, stamp, service.now(), auth.sessionMilliseconds)
  const { steps, agreements, refuse } = planReplace(call, users, { before: user, after: replace })
  return {
    steps: [...steps, { in: SESSIONS, remove: sessionsOf(user._id) }, step],
    agreements,
    refuse,
    done: { user: await showAccount(call, auth, replace), ...issued },
    behind,
  }
}
