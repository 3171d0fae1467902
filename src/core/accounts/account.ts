import type { AuthPlan } from '../config/plan.js'
import { readFields } from '../documents/write/stored-document.js'
import type { Fault } from '../errors.js'
import type { Field } from '../fields/field-type.js'
import { withoutHidden } from '../fields/names.js'
import { SYSTEM_FIELDS } from '../fields/schema/names.js'
import { normalise } from '../fields/schema/normalise.js'
import { holdsType } from '../filter/compare.js'
import { pickWhere, readOwn } from '../json/own-properties.js'
import { toPointerPart } from '../json/pointer.js'
import type { KnownCaller } from '../permissions/caller.js'
import type { StoredDocument } from '../storage.js'
import type { JsonObject } from '../types.js'

/** Returns the caller that a user is in requests. The roles come from the role field. */
export function callerOf({ users }: AuthPlan, user: StoredDocument): KnownCaller {
  const held = users.roleField === null ? undefined : readOwn(user, users.roleField)
  // A value that is not of the role field's type gives no roles.
  const isList = users.fields.some(({ name, type }) => name === users.roleField && type === 'array')
  const roles = isList ? (Array.isArray(held) ? held : []) : [held]
  const fields: { [name: string]: unknown } = {}
  for (const field of users.fields)
    if (field.type !== 'hash' && Object.hasOwn(user, field.name))
      fields[field.name] = withoutHidden(field, user[field.name])
  for (const name of SYSTEM_FIELDS) fields[name] = user[name]
  return { id: user._id, roles: roles.filter((role) => typeof role === 'string'), fields }
}

/** Whether an account is verified. */
export function isVerified({ verified }: AuthPlan, user: StoredDocument): boolean {
  return verified !== null && holdsType('timestamp')(readOwn(user, verified.name))
}

/** Validates a new value of a field of accounts. Its errors have the path `/new`, as in the body of the request. */
export function judgeNew({ users }: AuthPlan, field: Field, value: string): readonly Fault[] {
  const at = toPointerPart(field.name)
  return users
    .validate({ [field.name]: normalise(field, value) }, { isRelevant: ({ path }) => path === at })
    .map((fault) => ({ ...fault, path: '/new' }))
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

/**
 * Returns the fields of an account after an update: if its identifier has changed, it is no longer verified. `renewed`
 * are fields that count as changed even if the stored value is the same. Default: none.
 */
export function unverify(
  { identifier: { name }, verified }: AuthPlan,
  before: JsonObject,
  fields: JsonObject,
  renewed?: ReadonlyMap<string, unknown>,
): JsonObject {
  const isSame = !renewed?.has(name) && readOwn(before, name) === readOwn(fields, name)
  return isSame || !verified || !Object.hasOwn(fields, verified.name)
    ? fields
    : pickWhere(fields, (field) => field !== verified.name)
}
