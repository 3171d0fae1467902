import { warnOfClaims, warnOfRules } from '../claims/config/warn-of-claims.js'
import { USERS } from '../fields/schema/names.js'
import { createReport } from '../json/report.js'
import {
  EVERYONE,
  includesProperty,
  isRole,
  listRules,
  OWNER,
  type Rule,
  type RuleOperation,
  rulesOf,
  SIGNED_IN,
} from '../permissions/grants.js'
import { acceptsProperty } from '../permissions/write-rules.js'
import { isAnywhere } from '../query/where.js'
import { warnOfReferences } from '../references/config/find-warnings.js'
import type { AuthConfig, CollectionConfig } from '../types.js'
import { grantPointer, isOpenToEveryone, isPlain, OPEN_DOOR } from './compile-permissions.js'
import type { Finder, FinderScope, FindingReport, Found, WarningCode } from './finder.js'
import type { AuthPlan, Collection } from './plan.js'

/**
 * The findings that the start logs, in the order in which it logs them (CONTRACT.md §1, §5). The command `check` has
 * more finders.
 */
export const START_FINDERS: readonly Finder[] = [
  warnOfOpenDoors,
  warnOfIdleKeys,
  warnOfIdentifier,
  warnOfOpenSecret,
  warnOfUnlimited,
  warnOfReferences,
  warnOfCollections,
  warnOfClaims,
  warnOfRules,
]

/** Returns the findings of the start in a valid configuration. */
export function findWarnings(scope: FinderScope): readonly Found<WarningCode>[] {
  const found: Found<WarningCode>[] = []
  const report: FindingReport = createReport((path, code, message) => found.push({ code, path, message }) > 0)
  for (const find of START_FINDERS) find(scope, report)
  return found
}

/** Warns of collections that are open to everyone. In production, such a configuration is not valid. */
function warnOfOpenDoors({ plan }: FinderScope, report: FindingReport): void {
  for (const collection of plan.collections.values())
    if (isOpenToEveryone(collection.permissions, collection)) {
      const place = report.within(grantPointer(collection.name, EVERYONE))
      place.fault('open_to_everyone', `${OPEN_DOOR}; this is an error in production`)
    }
}

/**
 * The keys of `auth` that only affect the service's own accounts. The other keys also apply to callers that
 * the host application authenticates.
 */
const OF_ACCOUNTS: readonly (keyof AuthConfig)[] = [
  'register',
  'sessionDays',
  'sessions',
  'cost',
  'resetMinutes',
  'cookie',
]

const OF_CHANGES = ['subscribers', 'changesHours', 'changesBytes'] as const

/** Warns of keys that are set but have no effect. */
function warnOfIdleKeys({ plan }: FinderScope, report: FindingReport): void {
  const { auth, limits } = plan.config
  const warn = (
    keys: readonly string[],
    set: object | undefined,
    place: FindingReport,
    why: string,
  ): void => {
    for (const key of keys)
      if (Object.hasOwn(set ?? {}, key)) place.at(key).fault('no_effect', `has no effect: ${why}`)
  }
  if (plan.auth === null)
    warn(OF_ACCOUNTS, auth, report.at('auth'), `"${USERS}" keeps no accounts, because it has no hash field`)
  if (plan.log === null) warn(OF_CHANGES, limits, report.at('limits'), 'no collection has "changes": true')
}

function warnOfIdentifier({ plan: { auth } }: FinderScope, report: FindingReport): void {
  if (!auth) return
  const { definition, name } = auth.identifier
  if (definition.type !== 'string' || definition.lowercase) return
  const place = report.at('collections').at(USERS).at('schema').at(name)
  place.fault('case_sensitive_identifier', 'without "lowercase", Ann@… and ann@… are different accounts')
}

/** Warns if the owner of an account may change its password by an update. */
function warnOfOpenSecret({ plan: { auth } }: FinderScope, report: FindingReport): void {
  if (!auth) return
  const { users, secret } = auth
  const rules = rulesOf(users.permissions.update, OWNER)
  if (!rules.some((rule) => acceptsProperty(rule, secret.name, users))) return
  const message = `accepts a new ${secret.name} without the current one; exclude it with omit, because POST /auth/change-secret requires the current one`
  report.within(grantPointer(users.name, OWNER)).fault('open_secret', message)
}

/**
 * Warns if everyone may list whole collections in production, because neither `defaultLimit` nor `maxLimit` is set.
 */
function warnOfUnlimited(
  { plan: { collections, limits }, production }: FinderScope,
  report: FindingReport,
): void {
  if (!production || limits.defaultLimit !== null || limits.maxLimit !== null) return
  const open = [...collections.values()].filter(
    ({ permissions }) => rulesOf(permissions.read, EVERYONE).length > 0,
  )
  const names = open.map(({ name }) => name).join(', ')
  const message = `without maxLimit or defaultLimit, anyone may list all documents of ${names} in one request`
  if (open.length > 0) report.at('limits').fault('unlimited_list', message)
}

/** Warns of the rights in each collection, one collection after another. */
function warnOfCollections({ plan, hasAuthenticate }: FinderScope, report: FindingReport): void {
  const { collections, auth, config } = plan
  for (const collection of collections.values()) {
    const place = report.at('collections').at(collection.name)
    const written = config.collections?.[collection.name]
    if (written) warnOfPlainForm(written, collection, place)
    warnOfUnfillable(collection, auth, place)
    warnOfLesserRights(collection, place)
    // Callers that the host application authenticates may have any role.
    if (!hasAuthenticate) warnOfUnknownRoles(collection, collections.get(USERS), place)
  }
}

function warnOfPlainForm(config: CollectionConfig, { name }: Collection, report: FindingReport): void {
  if (name !== USERS) return
  for (const [subject, grant] of Object.entries(config.permissions ?? {})) {
    const message = `pick and omit of the whole grant also let ${subject} read every account`
    if (typeof grant === 'object' && isPlain(grant))
      report.at('permissions').at(subject).fault('plain_form_on_users', message)
  }
}

/** Warns of a required field that no rule for `create` accepts or sets. */
function warnOfUnfillable(collection: Collection, auth: AuthPlan | null, report: FindingReport): void {
  const rules = listRules(collection.permissions.create)
  if (rules.length === 0) return
  const credentials =
    auth?.users === collection && auth.register ? [auth.identifier.name, auth.secret.name] : []
  const message = 'is required, but no rule for create accepts or sets it'
  for (const { name, definition } of collection.fields) {
    const isFilled =
      !definition.required ||
      ('default' in definition && definition.default !== undefined) ||
      collection.fills.has(name) ||
      credentials.includes(name) ||
      rules.some((rule) => rule.set.has(name) || includesProperty(rule.properties, name))
    if (!isFilled) report.at('schema').at(name).fault('unfillable_field', message)
  }
}

/** The operations of which one rule decides. */
export const WRITES: readonly RuleOperation[] = ['create', 'update', 'delete']

/** Warns of subjects that may do less than everyone, because the most specific subject decides a write. */
function warnOfLesserRights(collection: Collection, report: FindingReport): void {
  for (const [operation, subject] of findLesser(collection, EVERYONE)) {
    if (subject !== SIGNED_IN && !isRole(subject)) continue
    const message = `${subject} may ${operation} less than "*" (everyone) may, because the most specific subject decides`
    report.at('permissions').at(subject).fault('less_than_everyone', message)
  }
}

/** Returns the writes for which another subject has fewer rights than `broad`. */
export const findLesser = (
  { permissions, fields }: Collection,
  broad: string,
): readonly (readonly [operation: RuleOperation, subject: string])[] =>
  WRITES.flatMap((operation) => {
    const names = fields.map(({ name }) => name)
    const lesser = [...permissions[operation]].filter(([, rules]) =>
      rulesOf(permissions[operation], broad).some((wide) =>
        rules.every((rule) => isNarrower(rule, wide, names)),
      ),
    )
    return lesser.map(([subject]) => [operation, subject] as const)
  })

/** Whether `rule` accepts fewer properties than `everyone`, or has a condition where `everyone` has none. */
function isNarrower(rule: Rule, everyone: Rule, names: readonly string[]): boolean {
  const lacks = names.some(
    (name) =>
      includesProperty(everyone.properties, name) &&
      !includesProperty(rule.properties, name) &&
      !rule.set.has(name),
  )
  const isConditional =
    (!isAnywhere(rule.where) && isAnywhere(everyone.where)) ||
    (!isAnywhere(rule.check) && isAnywhere(everyone.check))
  return lacks || isConditional
}

/** Warns of a role that no account can have, because the role field does not allow its name. */
function warnOfUnknownRoles(
  { permissions }: Collection,
  users: Collection | undefined,
  report: FindingReport,
): void {
  const definition = users?.fields.find(({ name }) => name === users.roleField)?.definition
  const holder = definition?.type === 'array' ? definition.items : definition
  const allowed = holder?.type === 'string' ? holder.enum : undefined
  if (!allowed) return
  for (const subject of collectSubjects(permissions)) {
    const message = `no account can have this role: the role field does not allow ${JSON.stringify(subject)}`
    if (isRole(subject) && !allowed.includes(subject))
      report.at('permissions').at(subject).fault('impossible_role', message)
  }
}

/** Returns the subjects that permissions mention. */
export const collectSubjects = (permissions: Collection['permissions']): ReadonlySet<string> =>
  new Set(Object.values(permissions).flatMap((rules) => [...rules.keys()]))
