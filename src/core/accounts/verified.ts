import type { AuthPlan } from '../config/plan.js'
import { readFields } from '../documents/write/stored-document.js'
import { holdsType } from '../filter/compare.js'
import { readOwn } from '../json/own-properties.js'
import type { StoredDocument } from '../storage.js'
import type { JsonObject } from '../types.js'

/** Whether an account is verified. */
export function isVerified({ verified }: AuthPlan, user: StoredDocument): boolean {
  return verified !== null && holdsType('timestamp')(readOwn(user, verified.name))
}

/** Whether an account may sign in: it is verified, or the configuration does not require that. */
export const counts = (auth: AuthPlan, user: StoredDocument): boolean =>
  !auth.requiresVerified || isVerified(auth, user)

/**
 * Returns the fields of an account after its verification at `now` (in stored form). An account that is already
 * verified keeps its time.
 */
export const verifiedFields = (auth: AuthPlan, user: StoredDocument, now: string): JsonObject =>
  auth.verified === null || isVerified(auth, user)
    ? readFields(user)
    : { ...readFields(user), [auth.verified.name]: now }
