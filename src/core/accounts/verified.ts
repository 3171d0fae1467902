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

/** Whether an account may sign in: it is verified, or need not be. */
export const counts = (auth: AuthPlan, user: StoredDocument): boolean =>
  !auth.requiresVerified || isVerified(auth, user)

/** The fields of an account after its verification; a verified account keeps its time. `now` is in stored form. */
export const verifiedFields = (auth: AuthPlan, user: StoredDocument, now: string): JsonObject =>
  auth.verified === null || isVerified(auth, user)
    ? readFields(user)
    : { ...readFields(user), [auth.verified.name]: now }
