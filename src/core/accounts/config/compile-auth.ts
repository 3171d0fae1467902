import { grantPointer } from '../../config/compile-permissions.js'
import { DEFAULT_AUTH } from '../../config/defaults.js'
import { describeType } from '../../config/describe-type.js'
import type { AuthPlan, Collection, ServicePlan } from '../../config/plan.js'
import type { IsUnsure } from '../../config/shape/check-shape.js'
import { UNSURE } from '../../config/shape/settle-shape.js'
import type { ConfigFault } from '../../errors.js'
import type { Field } from '../../fields/field-type.js'
import { suggest, USERS } from '../../fields/schema/names.js'
import { toPointerPart } from '../../json/pointer.js'
import type { ConfigReport } from '../../json/report.js'
import { EVERYONE, OWNER, type Rule, rulesOf, SIGNED_IN } from '../../permissions/grants.js'
import { acceptsProperty } from '../../permissions/write-rules.js'
import type { AuthConfig, FieldDefinition } from '../../types.js'

/**
 * The attributes that the field of `auth.verifiedField` may not have, because only the service sets and removes its
 * value.
 */
const FOREIGN_ATTRIBUTES = ['default', 'required', 'immutable', 'unique'] as const

/** Finds the field that holds the time at which an account was verified; `null` if there is none. */
function findVerifiedField(
  { verifiedField }: AuthConfig,
  users: Collection | undefined,
  isUnsure: IsUnsure,
  report: ConfigReport,
): Field | null {
  if (verifiedField === undefined || verifiedField === null || isUnsure(`/collections/${USERS}/schema`))
    return null
  const place = report.at('verifiedField')
  const fields = users?.fields ?? []
  const field = fields.find(({ name }) => name === verifiedField)
  if (!field) {
    const names = fields.map(({ name }) => name)
    place.fault(`"${USERS}" has no field ${JSON.stringify(verifiedField)}${suggest(verifiedField, names)}`)
    return null
  }
  if (field.definition === UNSURE) return null
  if (field.type !== 'timestamp') {
    place.fault(`must name a timestamp field, but ${JSON.stringify(verifiedField)} is ${describeType(field)}`)
    return null
  }
  for (const attribute of FOREIGN_ATTRIBUTES) {
    const written = new Map<string, unknown>(Object.entries(field.definition)).get(attribute)
    if (written === undefined || written === false) continue
    place.fault(
      `must name a field without "${attribute}", but ${JSON.stringify(verifiedField)} has "${attribute}": ${JSON.stringify(written)}; only the service sets and removes its value`,
    )
  }
  if (users && isInUniqueIndex(users, field) && !('unique' in field.definition && field.definition.unique))
    place.fault(`must name a field without a unique index, but ${JSON.stringify(verifiedField)} is in one`)
  return field
}

const isInUniqueIndex = ({ storage }: Collection, { name }: Field): boolean =>
  storage.indexes.some(({ unique, fields }) => unique && fields.some(({ path }) => path === name))

/** The parts of a configuration that `auth.requireVerified` depends on. */
interface Requirement {
  readonly config: AuthConfig
  /** `null` if there are no accounts, or if their configuration is invalid. */
  readonly auth: AuthPlan | null
  /** The references between collections. */
  readonly references: Pick<ServicePlan, 'referrers' | 'matches'>
  readonly isUnsure: IsUnsure
  /** Whether `options.deliver` is set. */
  readonly hasDeliver: boolean
  /** The faults found before: a fault that only follows from one of them is not reported. */
  readonly faults: readonly ConfigFault[]
}

/**
 * Checks the requirements of `auth.requireVerified`, and that no rule or default reveals whether an identifier is
 * taken.
 */
export function checkRequireVerified(
  { config, auth, references, isUnsure, hasDeliver, faults }: Requirement,
  report: ConfigReport,
): void {
  if (config.requireVerified !== true) return
  const place = report.at('auth').at('requireVerified')
  if ((config.verifiedField ?? null) === null && !isUnsure('/auth/verifiedField'))
    place.fault('needs auth.verifiedField')
  if (!hasDeliver)
    place.fault(
      'needs options.deliver (on the command line: --deliver): without it, no account can be verified',
    )
  const isFaulty = (at: string): boolean =>
    faults.some(({ path }) => path === at || path.startsWith(`${at}/`))
  const at = `/collections/${USERS}`
  if (!auth) {
    if (!isFaulty('/auth') && !isFaulty(at) && !isUnsure(at))
      place.fault(`needs accounts: "${USERS}" must have a hash field`)
    return
  }
  if (isFaulty(`${at}/schema`) || isFaulty(`${at}/indexes`)) return
  const permissions = report.at('collections').at(USERS).at('permissions')
  const judge = (subject: string, find: () => Iterable<string>): void => {
    if (isFaulty(`${at}/permissions${toPointerPart(subject)}`)) return
    for (const message of find()) permissions.at(subject).fault(`with auth.requireVerified, ${message}`)
  }
  judge(SIGNED_IN, () => judgeCreate(auth))
  for (const subject of [EVERYONE, SIGNED_IN, OWNER]) judge(subject, () => judgeIdentifier(auth, subject))
  if (!auth.register) return
  const telling = findTelling(auth, references)
  judge(EVERYONE, () => judgeRegistration(auth, telling))
  for (const { field, what } of telling) {
    const { name, definition } = field
    if (!('default' in definition) || definition.default === undefined) continue
    const message = `with auth.requireVerified, a default is not allowed here, because it would reveal ${what}`
    report.at('collections').at(USERS).at('schema').at(name).at('default').fault(message)
  }
}

/** Checks that a registration has one rule, and no array of rules. */
export function checkRegistration(auth: AuthPlan | null, report: ConfigReport): void {
  const rules = auth ? rulesOf(auth.users.permissions.create, EVERYONE) : []
  if (rules.some(({ place }) => place !== '' && place !== CREATE))
    report
      .within(grantPointer(USERS, EVERYONE) + CREATE)
      .fault('must be one rule here, not an array, because it is the rule of a registration')
}

const CREATE = '/create'

const writes = (rule: Rule, name: string, { users }: AuthPlan): boolean =>
  rule.set.has(name) || acceptsProperty(rule, name, users)

const judgeCreate = ({ users }: AuthPlan): readonly string[] =>
  rulesOf(users.permissions.create, SIGNED_IN).length > 0
    ? ['only registration and roles may create accounts']
    : []

function judgeIdentifier(auth: AuthPlan, subject: string): readonly string[] {
  const { users, identifier } = auth
  const rules = rulesOf(users.permissions.update, subject)
  return rules.some((rule) => writes(rule, identifier.name, auth))
    ? [`only roles may write ${identifier.name}, because a write reveals whether a value is taken`]
    : []
}

/** A field whose value would reveal accounts, and a phrase for an error that says what it reveals. */
interface RevealingField {
  readonly field: Field
  readonly what: string
}

/**
 * Finds the fields besides the identifier that would reveal accounts. A unique field reveals whether another account
 * has the same value. A reference that prevents the deletion or change of a document reveals that an account refers to
 * that document.
 */
function findTelling(
  { users, identifier }: AuthPlan,
  { referrers, matches }: Requirement['references'],
): readonly RevealingField[] {
  const holding = new Set(
    [
      ...[...referrers.values()]
        .flat()
        .filter((one) => one.collection === USERS && one.onDelete === 'restrict'),
      ...(matches.from.get(USERS) ?? []).map(({ ref }) => ({ field: ref })),
    ].map(({ field }) => field.path.split('.', 1)[0]),
  )
  return users.fields.flatMap((field) => {
    if (holding.has(field.name))
      return [
        { field, what: 'that an account refers to a document, which then cannot be deleted or changed' },
      ]
    const isTelling = field.name !== identifier.name && isInUniqueIndex(users, field)
    return isTelling ? [{ field, what: 'whether its value is taken' }] : []
  })
}

function judgeRegistration(auth: AuthPlan, telling: readonly RevealingField[]): readonly string[] {
  const rules = rulesOf(auth.users.permissions.create, EVERYONE)
  return telling
    .filter(({ field }) => rules.some((rule) => writes(rule, field.name, auth)))
    .map(({ field, what }) => `registration may not accept ${field.name}, because it would reveal ${what}`)
}

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
 * Finds the fields that accounts use (CONTRACT.md §4, "Registration"). Returns `null` if `users` has no hash field and
 * `auth` names neither field: the service then keeps no accounts.
 */
export function compileAuth(
  auth: AuthConfig,
  users: Collection | undefined,
  isUnsure: IsUnsure,
  report: ConfigReport,
): Omit<AuthPlan, 'cookie'> | null {
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
      .fault(
        `must not name ${JSON.stringify(identifier.name)}, which is the identifier: anyone who registers could choose a role`,
      )
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
      const allowed = names.length > 0 ? `it may be ${names.join(' or ')}` : `there is no such field`
      const field = fields.find((one) => one.name === name)
      place.fault(
        `must name a ${kind} of "${USERS}", but ${JSON.stringify(name)} is ${field ? describeField(field) : 'not a field'}: ${allowed}${suggest(name, names)}`,
      )
    }
    return found
  }
  if (candidates.length === 1) return candidates[0]
  if (candidates.length === 0 && unsure.length > 0) return undefined
  place.fault(
    candidates.length === 0
      ? `"${USERS}" has no ${kind}, which accounts need`
      : `"${USERS}" has several ${kind}s: choose one of ${names.join(', ')} as auth.${attribute}`,
  )
  return undefined
}

/** Describes, for an error, the type of a field that cannot be the identifier or the secret. */
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
      `must name a field of type string or an array of strings, but ${JSON.stringify(roleField)} is ${definition.type === 'array' ? `an array of ${definition.items.type}` : `of type ${definition.type}`}`,
    )
  }
}
