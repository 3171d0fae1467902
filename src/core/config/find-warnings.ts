import { USERS } from '../fields/schema/names.js'
import type { WarningReport } from '../json/report.js'
import {
  EVERYONE,
  includesProperty,
  isRole,
  OWNER,
  type Rule,
  type RuleOperation,
  SIGNED_IN,
} from '../permissions/grants.js'
import { acceptsProperty } from '../permissions/write-rules.js'
import { isAnywhere } from '../query/where.js'
import { warnOfReferences } from '../references/config/find-warnings.js'
import type { CollectionConfig, Config } from '../types.js'
import type { AuthPlan, Collection, ServicePlan } from './plan.js'

/** Warns of valid configuration that its author may not have meant (CONTRACT.md §1, §5). */
export function findWarnings(
  written: Config['collections'],
  plan: Pick<ServicePlan, 'collections' | 'auth' | 'limits' | 'matches' | 'referrers'>,
  options: { readonly production: boolean; readonly hasAuthenticate: boolean },
  report: WarningReport,
): void {
  const { collections, auth } = plan
  if (auth) warnOfIdentifier(auth, report)
  if (auth) warnOfOpenSecret(auth, report)
  if (options.production) warnOfUnlimited(plan, report.at('limits'))
  warnOfReferences(written, plan, report)
  for (const collection of collections.values()) {
    const place = report.at('collections').at(collection.name)
    const config = written[collection.name]
    if (config) warnOfPlainForm(config, collection, place)
    warnOfUnfillable(collection, auth, place)
    warnOfLesserRights(collection, place)
    // Callers that the host application authenticates may have any role.
    if (!options.hasAuthenticate) warnOfUnknownRoles(collection, collections.get(USERS), place)
  }
}

function warnOfIdentifier({ identifier }: AuthPlan, report: WarningReport): void {
  const { definition, name } = identifier
  if (definition.type !== 'string' || definition.lowercase) return
  const place = report.at('collections').at(USERS).at('schema').at(name)
  place.fault('case_sensitive_identifier', 'without "lowercase", Ann@… and ann@… are different accounts')
}

/** Warns if the owner of an account may change its password by an update. */
function warnOfOpenSecret({ users, secret }: AuthPlan, report: WarningReport): void {
  const rule = users.permissions.update.get(OWNER)
  if (!rule || !acceptsProperty(rule, secret.name, users)) return
  report
    .at('collections')
    .at(users.name)
    .at('permissions')
    .at(OWNER)
    .fault(
      'open_secret',
      `accepts a new ${secret.name} without the current one; exclude it with omit, because POST /auth/change-secret requires the current one`,
    )
}

/** Warns if everyone may list whole collections, because neither `defaultLimit` nor `maxLimit` is set. */
function warnOfUnlimited(
  { collections, limits }: Pick<ServicePlan, 'collections' | 'limits'>,
  report: WarningReport,
): void {
  if (limits.defaultLimit !== null || limits.maxLimit !== null) return
  const open = [...collections.values()].filter(({ permissions }) => permissions.read.get(EVERYONE))
  const names = open.map(({ name }) => name).join(', ')
  if (open.length > 0)
    report.fault(
      'unlimited_list',
      `without maxLimit or defaultLimit, anyone may list all documents of ${names} in one request`,
    )
}

function warnOfPlainForm(config: CollectionConfig, { name }: Collection, report: WarningReport): void {
  if (name !== USERS) return
  for (const [subject, grant] of Object.entries(config.permissions ?? {})) {
    if (typeof grant === 'object' && (Object.hasOwn(grant, 'pick') || Object.hasOwn(grant, 'omit')))
      report
        .at('permissions')
        .at(subject)
        .fault(
          'plain_form_on_users',
          `pick and omit of the whole grant also let ${subject} read every account`,
        )
  }
}

/** Warns of a required field that no rule for `create` accepts or sets. */
function warnOfUnfillable(collection: Collection, auth: AuthPlan | null, report: WarningReport): void {
  const rules = [...collection.permissions.create.values()].filter((rule) => rule !== null)
  if (rules.length === 0) return
  const credentials =
    auth?.users === collection && auth.register ? [auth.identifier.name, auth.secret.name] : []
  for (const { name, definition } of collection.fields) {
    const isFilled =
      !definition.required ||
      ('default' in definition && definition.default !== undefined) ||
      collection.fills.has(name) ||
      credentials.includes(name) ||
      rules.some((rule) => rule.set.has(name) || includesProperty(rule.properties, name))
    if (!isFilled)
      report
        .at('schema')
        .at(name)
        .fault('unfillable_field', 'is required, but no rule for create accepts or sets it')
  }
}

const WRITES: readonly RuleOperation[] = ['create', 'update', 'delete']

/** Warns of subjects that may do less than everyone, because the most specific subject decides a write. */
function warnOfLesserRights({ permissions, fields }: Collection, report: WarningReport): void {
  const names = fields.map(({ name }) => name)
  for (const operation of WRITES) {
    const everyone = permissions[operation].get(EVERYONE)
    if (!everyone) continue
    for (const [subject, rule] of permissions[operation]) {
      if (subject !== SIGNED_IN && !isRole(subject)) continue
      if (rule !== null && !isNarrower(rule, everyone, names)) continue
      const message = `${subject} may ${operation} less than "*" (everyone) may, because the most specific subject decides`
      report.at('permissions').at(subject).fault('less_than_everyone', message)
    }
  }
}

/** Whether `rule` accepts fewer properties than `everyone`, or has a condition where `everyone` has none. */
export function isNarrower(rule: Rule, everyone: Rule, names: readonly string[]): boolean {
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
  report: WarningReport,
): void {
  const definition = users?.fields.find(({ name }) => name === users.roleField)?.definition
  const holder = definition?.type === 'array' ? definition.items : definition
  const allowed = holder?.type === 'string' ? holder.enum : undefined
  if (!allowed) return
  for (const subject of new Set(Object.values(permissions).flatMap((rules) => [...rules.keys()]))) {
    if (isRole(subject) && !allowed.includes(subject))
      report
        .at('permissions')
        .at(subject)
        .fault(
          'impossible_role',
          `no account can have this role: the role field does not allow ${JSON.stringify(subject)}`,
        )
  }
}
