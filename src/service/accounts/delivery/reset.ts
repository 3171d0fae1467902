import { useUp } from '../../../auth/deliveries.js'
import { issueSession } from '../../../auth/sessions.js'
import { createStamp } from '../../../auth/token.js'
import type { AuthPlan } from '../../../config/plan.js'
import type { Call } from '../../call.js'
import { type SettledWrite, whereHooked } from '../../hooks.js'
import type { Attempt } from '../../store/attempt.js'
import { hashSecrets } from '../../write/hash-secrets.js'
import { updateStoredDocument } from '../../write/stored-document.js'
import { askUpdateHook, planReplace } from '../../write/update-document.js'
import { showAccount, showAgain } from '../account.js'
import { endSessions } from '../end-sessions.js'
import type { SignedIn } from '../login.js'
import { verifiedFields } from '../verified.js'
import { findDelivered } from './tokens.js'

/** A token, and the secret that it sets. */
export interface Reset {
  readonly token: string
  readonly next: string
}

/**
 * Sets a new secret for the holder of the token that was delivered to the present identifier, ends all sessions in the
 * same write and opens one (CONTRACT.md §4, "Reset"). This also verifies the account. Throws `invalid_delivered_token`,
 * and `overloaded`.
 */
export async function resetSecret(call: Call, auth: AuthPlan, { token, next }: Reset): Promise<SignedIn> {
  const { users, secret } = auth
  // An invalid token must not cost a hash.
  await findDelivered(call, auth, token, ['reset'])
  const hashes = await hashSecrets(call, [[secret.name, next]])
  const run = (own: Call) => own.store.write(() => planReset(own, auth, token, hashes))
  return whereHooked(call, users, run, showAgain(auth))
}

async function planReset(
  call: Call,
  auth: AuthPlan,
  token: string,
  hashes: ReadonlyMap<string, string | null>,
): Promise<Attempt<SignedIn>> {
  const { service } = call
  const { users } = auth
  const { delivered, user } = await findDelivered(call, auth, token, ['reset'])
  const [stamp, now] = [createStamp(), service.clock()]
  const planned = { fields: verifiedFields(auth, user, now), now }
  const { fields, behind }: SettledWrite = await (askUpdateHook(call, users, user, planned) ?? planned)
  const replace = updateStoredDocument(user, fields, now, { hashes, stamp })
  const { issued, step } = issueSession(user._id, stamp, service.now(), auth.sessionMilliseconds)
  const { steps, agreements, refuse } = planReplace(call, users, { before: user, after: replace })
  const ending = await endSessions(service, { auth, deadline: call.deadline }, [user._id])
  return {
    steps: [...steps, ...useUp(delivered), ...ending.steps, step],
    after: ending.after,
    agreements,
    refuse,
    done: { user: await showAccount(call, auth, replace), ...issued },
    behind,
  }
}
