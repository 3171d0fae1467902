import {
  DELIVERIES,
  type DeliveredToken,
  isBound,
  readDelivered,
  type TokenKind,
} from '../../../auth/deliveries.js'
import { digestToken, isToken } from '../../../auth/token.js'
import type { AuthPlan } from '../../../config/plan.js'
import { ServiceError } from '../../../errors.js'
import { isId } from '../../../filter/filter.js'
import { readOwn } from '../../../json/own-properties.js'
import type { StoredDocument } from '../../../storage.js'
import type { Call } from '../../call.js'
import { readStamp } from '../../write/stored-document.js'

/** A valid token, and its account. */
export interface Delivered {
  readonly delivered: DeliveredToken
  readonly user: StoredDocument
}

/**
 * Finds the account of a delivered token. Throws `invalid_delivered_token`, the same error for a token that is wrong,
 * used, expired, or of another identifier, stamp or kind.
 */
export async function findDelivered(
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

/** The error of an invalid delivered token. */
export const invalidDelivered = (): ServiceError =>
  new ServiceError(
    'invalid_delivered_token',
    'The token is wrong, used, expired or belongs to another account.',
  )
