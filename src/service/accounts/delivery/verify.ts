import { useUp } from '../../../auth/deliveries.js'
import type { AuthPlan } from '../../../config/plan.js'
import { normalise } from '../../../schema/normalise.js'
import type { StoredDocument } from '../../../storage.js'
import type { JsonObject } from '../../../types.js'
import type { Call } from '../../call.js'
import { type SettledWrite, whereHooked } from '../../hooks.js'
import type { Attempt } from '../../store/attempt.js'
import { readFields, readHash, readStamp, updateStoredDocument } from '../../write/stored-document.js'
import { askUpdateHook, planReplace } from '../../write/update-document.js'
import { identifierOf, verifySecret } from '../login.js'
import { isVerified, verifiedFields } from '../verified.js'
import { judgeIdentifier } from './change-identifier.js'
import { type Delivered, findDelivered, invalidDelivered } from './tokens.js'

/** A token, and the secret of the account for which it was delivered. */
export interface Verification {
  readonly token: string
  readonly current: string
  /** The client's address; `undefined` where it is not known. */
  readonly client: string | undefined
}

const KINDS = ['verification', 'new-identifier'] as const

/**
 * Verifies the identifier to which a token went; one that went to a new identifier puts it in (CONTRACT.md §4,
 * "Verification"). Throws `invalid_delivered_token`, also where the new identifier is taken by now,
 * `invalid_credentials` for a wrong secret, which uses no token up, `too_many_attempts`, and what a change of the
 * account does.
 */
export async function verify(
  call: Call,
  auth: AuthPlan,
  { token, current, client }: Verification,
): Promise<void> {
  const { service } = call
  const { user: asked } = await findDelivered(call, auth, token, KINDS)
  const from = { identifier: identifierOf(auth, asked), client }
  await service.throttle.run(call, from, () => verifySecret(call, auth, asked, current))
  await whereHooked(call, auth.users, (own) =>
    own.store.write(async () => {
      const found = await findDelivered(own, auth, token, KINDS)
      if (hasOtherSecret(auth, found.user, asked)) await verifySecret(own, auth, found.user, current)
      return planVerification(own, auth, found)
    }),
  )
}

/** Whether another secret may have come first. A hash that was only renewed has the stamp that it had. */
const hasOtherSecret = ({ secret }: AuthPlan, now: StoredDocument, before: StoredDocument): boolean =>
  readStamp(now) !== readStamp(before) && readHash(now, secret.name) !== readHash(before, secret.name)

async function planVerification(
  call: Call,
  auth: AuthPlan,
  { delivered, user }: Delivered,
): Promise<Attempt<void>> {
  const { users } = auth
  const now = call.service.clock()
  if (delivered.kind === 'verification' && isVerified(auth, user))
    return { steps: useUp(delivered), done: undefined }
  if (delivered.kind === 'new-identifier' && !isFitting(auth, delivered.to)) throw invalidDelivered()
  const verified =
    delivered.kind === 'verification'
      ? verifiedFields(auth, user, now)
      : renamed(auth, user, delivered.to, now)
  const planned = { fields: verified, now }
  const { fields, behind }: SettledWrite = await (askUpdateHook(call, users, user, planned) ?? planned)
  const replace = updateStoredDocument(user, fields, now, { hashes: new Map() })
  const { steps, agreements, refuse } = planReplace(call, users, { before: user, after: replace })
  return {
    steps: [...steps, ...useUp(delivered)],
    agreements,
    done: undefined,
    behind,
    refuse(failure) {
      const { reason, fields: taken = [] } = failure
      const isIdentifier = taken.length === 0 || taken.includes(auth.identifier.name)
      if (reason === 'unique' && isIdentifier && delivered.kind !== 'verification') throw invalidDelivered()
      return refuse(failure)
    },
  }
}

/** Whether the configuration, which may be another by now, still takes an identifier as it is. */
const isFitting = (auth: AuthPlan, to: string): boolean =>
  normalise(auth.identifier, to) === to && judgeIdentifier(auth, to).length === 0

/** The fields of an account with another identifier, which is verified now. */
const renamed = (
  { identifier, verified }: AuthPlan,
  user: StoredDocument,
  to: string,
  now: string,
): JsonObject => ({
  ...readFields(user),
  [identifier.name]: to,
  ...(verified ? { [verified.name]: now } : {}),
})
