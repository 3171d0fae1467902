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
  /** The client's address; `undefined` if unknown. */
  readonly client: string | undefined
}

const KINDS = ['verification', 'new-identifier'] as const

/**
 * Verifies the identifier to which a token was delivered; a token for a new identifier also stores it (CONTRACT.md §4,
 * "Verification"). Throws `invalid_delivered_token`, also if the new identifier is taken meanwhile,
 * `invalid_credentials` for a wrong secret, which does not use up the token, `too_many_attempts`, and the errors of a
 * change of the account.
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

/** Whether the secret may have changed meanwhile. A hash that was only renewed keeps its stamp. */
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

/** Whether the configuration, which may have changed, still accepts an identifier unchanged. */
const isFitting = (auth: AuthPlan, to: string): boolean =>
  normalise(auth.identifier, to) === to && judgeIdentifier(auth, to).length === 0

/** The fields of an account with another identifier, verified now. */
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
