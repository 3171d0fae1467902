import type { AuthPlan, ServicePlan } from '../config/plan.js'
import { readFields, updateStoredDocument } from '../documents/write/stored-document.js'
import { ConfigError, ServiceError } from '../errors.js'
import type { Field } from '../fields/field-type.js'
import { normalise } from '../fields/schema/normalise.js'
import { readOwn } from '../json/own-properties.js'
import { toPointerPart } from '../json/pointer.js'
import type { Clock } from '../permissions/caller.js'
import { planAgreements } from '../references/matches.js'
import type { Attempt } from '../request/store/attempt.js'
import { refuseTaken, type Store } from '../request/store.js'
import type { StoredDocument } from '../storage.js'
import type { JsonObject } from '../types.js'
import { isVerified, verifiedFields } from './account.js'
import { findUser } from './login.js'

/** A configuration, its accounts, and the field that holds their roles. */
interface RolePlan {
  readonly auth: AuthPlan
  readonly field: Field
  readonly plan: ServicePlan
}

/** Finds the field in which a configuration keeps roles. Throws `ConfigError` if it keeps no accounts or no roles. */
export function findRoles(plan: ServicePlan): RolePlan {
  const { auth } = plan
  if (!auth)
    throw new ConfigError([
      { path: '/collections/users', message: 'has no accounts: no field is of type hash' },
    ])
  const field = auth.users.fields.find(({ name }) => name === auth.users.roleField)
  if (!field)
    throw new ConfigError([{ path: '/auth/roleField', message: 'must name the field that holds roles' }])
  return { auth, field, plan }
}

/** An account, and the role to grant. */
interface RoleGrant {
  /** The identifier, in the form that a login sends. */
  readonly identifier: string
  readonly role: string
}

/**
 * Grants a role to an account with the operator's authority, regardless of the permissions. If the role field holds one
 * role, it is replaced; if it holds a list, the role is added. Returns whether anything was written. Throws `not_found`
 * for an identifier without an account, `validation_failed` for a role that the field does not accept,
 * `unique_violation` and `overloaded`.
 *
 * @param store open for the collection of accounts
 */
export const grantRole = async (
  store: Store,
  { auth, field, plan }: RolePlan,
  { identifier, role }: RoleGrant,
  clock: Clock,
): Promise<{ readonly isNew: boolean }> =>
  store.write(async (): Promise<Attempt<{ readonly isNew: boolean }>> => {
    const { users } = auth
    const user = await findNamed(store, auth, identifier)
    const before = readOwn(user, field.name)
    const after = addRole(field, before, role)
    if (JSON.stringify(after) === JSON.stringify(before)) return { steps: [], done: { isNew: false } }
    const fields: JsonObject = { ...readFields(user), [field.name]: after }
    checkRole({ auth, field, plan }, fields)
    const replace = updateStoredDocument(user, fields, clock())
    const judged = planAgreements(plan, users, { before: user, after: replace }).filter(({ step }) => step)
    return {
      steps: [
        { in: users.name, replace, version: user._version },
        ...judged.flatMap(({ step }) => step ?? []),
      ],
      done: { isNew: true },
      refuse(failure) {
        const broken = judged[failure.step - 1]?.refuse
        if (broken) throw broken()
        refuseTaken(failure)
      },
    }
  })

/** Finds the account that an operator names. Throws `not_found`. */
async function findNamed(store: Store, auth: AuthPlan, identifier: string): Promise<StoredDocument> {
  const user = await findUser(store, auth, String(normalise(auth.identifier, identifier)))
  if (user) return user
  throw new ServiceError(
    'not_found',
    `No account has the ${auth.identifier.name} ${JSON.stringify(identifier)}.`,
  )
}

/**
 * Returns the value of the role field after a role is added. A value that is not of the field's type counts as missing.
 */
function addRole(field: Field, before: unknown, role: string): unknown {
  if (field.type !== 'array') return normalise(field, role)
  const held: readonly unknown[] = Array.isArray(before) ? before : []
  const added = field.items ? normalise(field.items, role) : role
  return held.includes(added) ? held : [...held, added]
}

/** Validates the added role in its field, not the roles that the account already had. */
function checkRole({ auth: { users }, field }: RolePlan, fields: JsonObject): void {
  const at = toPointerPart(field.name)
  const after = fields[field.name]
  const paths = Array.isArray(after) ? [at, at + toPointerPart(after.length - 1)] : [at]
  const faults = users.validate(fields, { isRelevant: ({ path }) => paths.includes(path) })
  const [fault] = faults
  if (!fault) return
  const allowed = allowedIn(field)
  const hint = fault.code === 'not_allowed' && allowed.length > 0 ? `: ${allowed.join(', ')}` : ''
  throw new ServiceError('validation_failed', `${field.name} ${fault.message}${hint}`, { errors: faults })
}

/** Returns the values to which an `enum` restricts a role; `[]` if there is no `enum`. */
function allowedIn({ definition, items }: Field): readonly unknown[] {
  if (items) return allowedIn(items)
  return definition.type === 'string' ? (definition.enum ?? []) : []
}

/** Returns the plan of accounts that can be verified. Throws `ConfigError` if the configuration has none. */
export function findVerifiable({ auth }: ServicePlan): AuthPlan {
  if (auth?.verified) return auth
  throw new ConfigError([
    {
      path: '/auth/verifiedField',
      message: 'is required: it names the field that holds the time at which an account was verified',
    },
  ])
}

/**
 * Verifies an account with the operator's authority. Returns whether anything was written: an account that is already
 * verified keeps its time. Throws `not_found` for an identifier without an account, and `overloaded`.
 *
 * @param store open for the collection of accounts
 */
export const grantVerified = async (
  store: Store,
  auth: AuthPlan,
  identifier: string,
  clock: Clock,
): Promise<{ readonly isNew: boolean }> =>
  store.write(async (): Promise<Attempt<{ readonly isNew: boolean }>> => {
    const user = await findNamed(store, auth, identifier)
    if (isVerified(auth, user)) return { steps: [], done: { isNew: false } }
    const now = clock()
    const replace = updateStoredDocument(user, verifiedFields(auth, user, now), now)
    return {
      steps: [{ in: auth.users.name, replace, version: user._version }],
      done: { isNew: true },
    }
  })
