import type { Field } from '../fields/field-type.js'
import { toPointerPart } from '../json/pointer.js'
import type { ConfigReport } from '../json/report.js'
import { suggest, USERS } from '../schema/names.js'
import type { AuthConfig, FieldDefinition } from '../types.js'
import { describeType } from './can-hold.js'
import { findVerifiedField } from './check-verification.js'
import { DEFAULT_AUTH } from './defaults.js'
import type { AuthPlan, Collection } from './plan.js'
import type { IsUnsure } from './shape/check-shape.js'
import { UNSURE } from './shape/settle-shape.js'

const MINUTE = 60 * 1000
const DAY = 24 * 60 * MINUTE

const isUniqueText = ({ definition }: Field): boolean =>
  definition.type === 'string' && definition.unique === true
const isHash = ({ type }: Field): boolean => type === 'hash'

const SCHEMA = `/collections/${USERS}/schema`

/** A field that accounts need, and the attribute of `auth` that names it. */
interface Credential {
  readonly attribute: 'identifier' | 'secret'
  readonly isCandidate: (field: Field) => boolean
  readonly kind: string
  readonly needs: string
}

const CREDENTIALS: readonly Credential[] = [
  { attribute: 'identifier', isCandidate: isUniqueText, kind: 'unique string field', needs: 'unique' },
  { attribute: 'secret', isCandidate: isHash, kind: 'hash field', needs: 'type' },
]

/**
 * Finds the fields that accounts use (CONTRACT.md §4, "Registration"). `null` if `users` has no hash field and `auth`
 * names neither field: the service then keeps no accounts.
 */
export function compileAuth(
  auth: AuthConfig,
  users: Collection | undefined,
  isUnsure: IsUnsure,
  report: ConfigReport,
): AuthPlan | null {
  const fields = users?.fields ?? []
  if (!fields.some(isHash) && auth.identifier === undefined && auth.secret === undefined) {
    if ((auth.verifiedField ?? null) !== null && !isUnsure(`/collections/${USERS}`))
      report.at('verifiedField').fault(`"${USERS}" keeps no accounts: it has no hash field`)
    return null
  }
  const [identifier, secret] = CREDENTIALS.map((credential) => {
    if (isUnsure(`/auth/${credential.attribute}`) || isUnsure(SCHEMA)) return undefined
    const unsure = fields.filter(
      ({ definition, name }) =>
        definition === UNSURE || isUnsure(`${SCHEMA}${toPointerPart(name)}/${credential.needs}`),
    )
    return findField(credential, auth[credential.attribute], { fields, unsure }, report)
  })
  if (identifier && identifier.name === auth.roleField) {
    report
      .at('roleField')
      .fault(`${JSON.stringify(identifier.name)} is the identifier: anyone who registers could choose a role`)
  }
  const verified = findVerifiedField(auth, users, isUnsure, report)
  if (!users || !identifier || !secret) return null
  const { register, sessionDays, sessions, cost, requireVerified, resetMinutes } = {
    ...DEFAULT_AUTH,
    ...auth,
  }
  return {
    users,
    identifier,
    secret,
    register,
    sessionMilliseconds: sessionDays * DAY,
    sessions,
    cost,
    verified,
    requiresVerified: requireVerified,
    resetMilliseconds: resetMinutes * MINUTE,
  }
}

function findField(
  { attribute, isCandidate, kind }: Credential,
  name: string | undefined,
  { fields, unsure }: { readonly fields: readonly Field[]; readonly unsure: readonly Field[] },
  report: ConfigReport,
): Field | undefined {
  const place = report.at(attribute)
  const candidates = fields.filter(isCandidate)
  const names = candidates.map((field) => field.name)
  if (name !== undefined) {
    const found = candidates.find((field) => field.name === name)
    if (!found && !unsure.some((field) => field.name === name)) {
      const allowed = names.length > 0 ? `one of ${names.join(', ')}` : `a ${kind}, but there is none`
      const field = fields.find((one) => one.name === name)
      place.fault(
        `must name a ${kind} of "${USERS}", and ${JSON.stringify(name)} is ${field ? describeField(field) : 'none'}: ${allowed}${suggest(name, names)}`,
      )
    }
    return found
  }
  if (candidates.length === 1) return candidates[0]
  if (candidates.length === 0 && unsure.length > 0) return undefined
  place.fault(
    candidates.length === 0
      ? `"${USERS}" has no ${kind}, which accounts need`
      : `"${USERS}" has several: name one of ${names.join(', ')} as auth.${attribute}`,
  )
  return undefined
}

/** The type of a field that does not fit, in words. */
const describeField = (field: Field): string =>
  field.definition.type === 'string' ? 'a string without "unique": true' : describeType(field)

/** Checks that `auth.roleField` can hold a role. */
export function checkRoleField(
  auth: AuthConfig,
  schema: { readonly [field: string]: FieldDefinition } | undefined,
  isUnsure: IsUnsure,
  report: ConfigReport,
): void {
  const { roleField } = auth
  if (roleField === undefined || isUnsure(SCHEMA)) return
  const names = Object.keys(schema ?? {})
  const definition = schema && Object.hasOwn(schema, roleField) ? schema[roleField] : undefined
  if (definition === UNSURE) return
  const place = report.at('roleField')
  if (!definition) {
    place.fault(`"${USERS}" has no field ${JSON.stringify(roleField)}${suggest(roleField, names)}`)
  } else if (
    definition.type === 'array' &&
    (definition.items.type === 'string' || definition.items === UNSURE)
  ) {
    return
  } else if (definition.type !== 'string') {
    place.fault(
      `must name a field of type string, or an array of strings, and ${JSON.stringify(roleField)} is ${definition.type === 'array' ? `an array of ${definition.items.type}` : `of type ${definition.type}`}`,
    )
  }
}
