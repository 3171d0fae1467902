import type { ConfigFault } from '../errors.js'
import type { Field } from '../fields/field-type.js'
import { toPointerPart } from '../json/pointer.js'
import type { ConfigReport } from '../json/report.js'
import { EVERYONE, OWNER, type Rule, SIGNED_IN } from '../permissions/grants.js'
import { acceptsProperty } from '../permissions/write-rules.js'
import { suggest, USERS } from '../schema/names.js'
import type { AuthConfig } from '../types.js'
import { describeType } from './can-hold.js'
import type { AuthPlan, Collection, ServicePlan } from './plan.js'
import type { IsUnsure } from './shape/check-shape.js'
import { UNSURE } from './shape/settle-shape.js'

/** Attributes that would conflict with a field that only the service sets and removes. */
const FOREIGN_ATTRIBUTES = ['default', 'required', 'immutable', 'unique'] as const

/** Finds the field of the verification time of an account; `null` for none. */
export function findVerifiedField(
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
    place.fault(`must name a timestamp, and ${JSON.stringify(verifiedField)} is ${describeType(field)}`)
    return null
  }
  for (const attribute of FOREIGN_ATTRIBUTES) {
    const written = new Map<string, unknown>(Object.entries(field.definition)).get(attribute)
    if (written === undefined || written === false) continue
    place.fault(
      `must name a field without "${attribute}", and ${JSON.stringify(verifiedField)} has ${JSON.stringify(written)}: only the service sets and removes it`,
    )
  }
  if (users && isInUniqueIndex(users, field) && !('unique' in field.definition && field.definition.unique))
    place.fault(`must name a field without a unique index, and ${JSON.stringify(verifiedField)} is in one`)
  return field
}

const isInUniqueIndex = ({ storage }: Collection, { name }: Field): boolean =>
  storage.indexes.some(({ unique, fields }) => unique && fields.some(({ path }) => path === name))

/** The parts of a configuration that `auth.requireVerified` depends on. */
export interface Requirement {
  readonly config: AuthConfig
  /** `null` if there are no accounts, or if they have a fault. */
  readonly auth: AuthPlan | null
  /** The references between collections. */
  readonly references: Pick<ServicePlan, 'referrers' | 'matches'>
  readonly isUnsure: IsUnsure
  /** Whether the host can deliver. */
  readonly hasDeliver: boolean
  /** The faults so far: a consequence of one of them is not reported. */
  readonly faults: readonly ConfigFault[]
}

/** Checks the requirements of `auth.requireVerified`, and that no rule reveals whether an identifier is taken. */
export function checkRequireVerified(
  { config, auth, references, isUnsure, hasDeliver, faults }: Requirement,
  report: ConfigReport,
): void {
  if (config.requireVerified !== true) return
  const place = report.at('auth').at('requireVerified')
  if ((config.verifiedField ?? null) === null && !isUnsure('/auth/verifiedField'))
    place.fault('needs auth.verifiedField')
  if (!hasDeliver)
    place.fault('needs options.deliver (the command: --deliver): otherwise no account can be verified')
  const isFaulty = (at: string): boolean =>
    faults.some(({ path }) => path === at || path.startsWith(`${at}/`))
  const at = `/collections/${USERS}`
  if (!auth) {
    if (!isFaulty('/auth') && !isFaulty(at) && !isUnsure(at)) place.fault(`"${USERS}" keeps no accounts`)
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
    const message = `with auth.requireVerified, a default would tell ${what}`
    report.at('collections').at(USERS).at('schema').at(name).at('default').fault(message)
  }
}

const writes = (rule: Rule, name: string, { users }: AuthPlan): boolean =>
  rule.set.has(name) || acceptsProperty(rule, name, users)

const judgeCreate = ({ users }: AuthPlan): readonly string[] =>
  users.permissions.create.get(SIGNED_IN) ? ['accounts come from registration and from roles alone'] : []

function judgeIdentifier(auth: AuthPlan, subject: string): readonly string[] {
  const { users, identifier } = auth
  const rule = users.permissions.update.get(subject)
  return rule && writes(rule, identifier.name, auth)
    ? [`only roles may write ${identifier.name}: it would tell whether a value is taken`]
    : []
}

/** A field whose value would reveal accounts, and what it reveals. */
interface RevealingField {
  readonly field: Field
  readonly what: string
}

/**
 * The fields besides the identifier that would reveal accounts: a unique field reveals other accounts; a document that
 * cannot be deleted or changed because an account refers to it reveals that account.
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
      return [{ field, what: `whether there is an account, for what it refers to is held` }]
    const isTelling = field.name !== identifier.name && isInUniqueIndex(users, field)
    return isTelling ? [{ field, what: 'whether its value is taken' }] : []
  })
}

function judgeRegistration(auth: AuthPlan, telling: readonly RevealingField[]): readonly string[] {
  const rule = auth.users.permissions.create.get(EVERYONE)
  return telling
    .filter(({ field }) => rule && writes(rule, field.name, auth))
    .map(({ field, what }) => `registration may not give ${field.name}: it would tell ${what}`)
}
