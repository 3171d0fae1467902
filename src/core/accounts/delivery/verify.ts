import type { AuthPlan } from '../../config/plan.js'
import { planNextVersion } from '../../documents/write/plan-write.js'
import { hashSecrets } from '../../documents/write/stages/secrets.js'
import { type HashChanges, readFields, readHash, readStamp } from '../../documents/write/stored-document.js'
import { ServiceError } from '../../errors.js'
import { normalise } from '../../fields/schema/normalise.js'
import { isId } from '../../filter/filter.js'
import { whereHooked } from '../../hooks/where-hooked.js'
import { readOwn } from '../../json/own-properties.js'
import type { Call } from '../../request/call.js'
import type { Attempt } from '../../request/store/attempt.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject } from '../../types.js'
import { isVerified, verifiedFields } from '../account.js'
import {
  DELIVERIES,
  type DeliveredToken,
  isBound,
  readDelivered,
  type TokenKind,
  useUp,
} from '../auth/deliveries.js'
import { digestToken, isToken } from '../auth/token.js'
import { planNewSecret } from '../change-secret.js'
import { identifierOf, type SignedIn, verifySecret } from '../login.js'
import { showAgain } from '../show-account.js'
import { judgeIdentifier } from './request.js'

/** A delivered token, and the new secret. */
interface Reset {
  readonly token: string
  readonly next: string
}

/**
 * Sets a new secret for a caller who has a token that was delivered to the account's current identifier. The same write
 * verifies the account, ends all its sessions and opens a new one (CONTRACT.md §4, "Reset"). Throws
 * `invalid_delivered_token` and `overloaded`.
 */
export async function resetSecret(call: Call, auth: AuthPlan, { token, next }: Reset): Promise<SignedIn> {
  const { users, secret } = auth
  // The token is checked before the hashing, so that an invalid token does not cost a hash.
  await findDelivered(call, auth, token, ['reset'])
  const hashes = await hashSecrets(call, [[secret.name, next]])
  const run = (own: Call) => own.store.write(() => planReset(own, auth, token, hashes))
  return whereHooked(call, users, run, showAgain(auth))
}

async function planReset(
  call: Call,
  auth: AuthPlan,
  token: string,
  hashes: HashChanges,
): Promise<Attempt<SignedIn>> {
  const { delivered, user } = await findDelivered(call, auth, token, ['reset'])
  const fields = verifiedFields(auth, user, call.service.clock())
  return planNewSecret(call, auth, user, { fields, hashes, others: useUp(delivered) })
}

/** A valid token, and its account. */
interface Delivered {
  readonly delivered: DeliveredToken
  readonly user: StoredDocument
}

/**
 * Finds the account of a delivered token. Throws `invalid_delivered_token`. The error is the same for a token that is
 * wrong, used, expired or of another kind, or whose identifier or stamp is no longer that of the account.
 */
async function findDelivered(
  { service, store }: Call,
  auth: AuthPlan,
  token: string,
  kinds: readonly TokenKind[],
): Promise<Delivered> {
  if (!isToken(token)) throw invalidDelivered()
  const stored = await store.own(DELIVERIES).first(isId(digestToken(token)))
  const delivered = stored && readDelivered(stored, service.now())
  if (!delivered || !kinds.includes(delivered.kind)) throw invalidDelivered()
  const user = await store.own(auth.users.name).find(delivered.user)
  const now = user && { identifier: readOwn(user, auth.identifier.name), stamp: readStamp(user) }
  if (!now || !isBound(delivered, now)) throw invalidDelivered()
  return { delivered, user }
}

/** Creates the error for an invalid delivered token. */
const invalidDelivered = (): ServiceError =>
  new ServiceError(
    'invalid_delivered_token',
    'The token is wrong, expired or already used, or it belongs to another account.',
  )

/** A delivered token, and the current secret of its account. */
export interface Verification {
  readonly token: string
  readonly current: string
  /** The client's address; `undefined` if unknown. */
  readonly client: string | undefined
}

const KINDS = ['verification', 'new-identifier'] as const

/**
 * Verifies the identifier to which a token was delivered; a token for a new identifier also stores it (CONTRACT.md §4,
 * "Verification"). Throws `invalid_delivered_token`, also if another account has taken the new identifier;
 * `invalid_credentials` for a wrong secret, which does not use up the token; `too_many_attempts`; and the errors of an
 * update of the account.
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

/**
 * Whether the secret may have changed between two reads of the account. A renewed hash of the same secret keeps the
 * stamp.
 */
const hasOtherSecret = ({ secret }: AuthPlan, now: StoredDocument, before: StoredDocument): boolean =>
  readStamp(now) !== readStamp(before) && readHash(now, secret.name) !== readHash(before, secret.name)

async function planVerification(
  call: Call,
  auth: AuthPlan,
  { delivered, user }: Delivered,
): Promise<Attempt<void>> {
  const now = call.service.clock()
  if (delivered.kind === 'verification' && isVerified(auth, user))
    return { steps: useUp(delivered), done: undefined }
  if (delivered.kind === 'new-identifier' && !isFitting(auth, delivered.to)) throw invalidDelivered()
  const fields =
    delivered.kind === 'verification'
      ? verifiedFields(auth, user, now)
      : renamed(auth, user, delivered.to, now)
  const planned = await planNextVersion(call, auth.users, user, { fields, now })
  return {
    ...planned,
    steps: [...planned.steps, ...useUp(delivered)],
    done: undefined,
    refuse(failure) {
      const { reason, fields: taken = [] } = failure
      const isIdentifier = taken.length === 0 || taken.includes(auth.identifier.name)
      if (reason === 'unique' && isIdentifier && delivered.kind !== 'verification') throw invalidDelivered()
      return planned.refuse(failure)
    },
  }
}

/** Whether an identifier is still valid and in stored form: the configuration may have changed since the delivery. */
const isFitting = (auth: AuthPlan, to: string): boolean =>
  normalise(auth.identifier, to) === to && judgeIdentifier(auth, to).length === 0

/** Returns the fields of an account after its identifier is changed to `to`, verified at `now`. */
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
