import { toPointerPart } from '../json/pointer.js'
import {
  EVERYONE,
  includesProperty,
  isRole,
  type Operation,
  type Rule,
  SIGNED_IN,
} from '../permissions/grants.js'
import { isAnywhere } from '../query/where.js'
import { USERS } from '../schema/names.js'
import type { CollectionConfig, Config, Limits } from '../types.js'
import type { AuthPlan, Collection, ServicePlan } from './plan.js'

/** What a sound configuration says that its author may not have meant (CONTRACT.md §1, §5). */
export function findWarnings(
  written: Config['collections'],
  collections: ReadonlyMap<string, Collection>,
  { auth, limits }: Pick<ServicePlan, 'auth' | 'limits'>,
  options: { readonly production: boolean },
): readonly string[] {
  return [
    ...(auth ? warnOfIdentifier(auth) : []),
    ...(options.production ? warnOfUnlimited(collections, limits) : []),
    ...[...collections.values()].flatMap((collection) => {
      const at = `/collections${toPointerPart(collection.name)}`
      const config = written[collection.name]
      return [
        ...(config ? warnOfPlainForm(config, collection, at) : []),
        ...warnOfUnfillable(collection, auth, at),
        ...warnOfLesserRights(collection, at),
        ...warnOfUnknownRoles(collection, collections, at),
      ]
    }),
  ]
}

function warnOfIdentifier({ identifier }: AuthPlan): readonly string[] {
  const { definition, name } = identifier
  if (definition.type !== 'string' || definition.lowercase) return []
  return [`/collections/${USERS}/schema/${name}: without "lowercase", Ann@… and ann@… are two accounts`]
}

/** Anyone could ask for all there is, again and again. */
function warnOfUnlimited(
  collections: ReadonlyMap<string, Collection>,
  { defaultLimit, maxLimit }: Limits,
): readonly string[] {
  if (defaultLimit !== null || maxLimit !== null) return []
  const open = [...collections.values()].filter(({ permissions }) => permissions.read.get(EVERYONE))
  const names = open.map(({ name }) => name).join(', ')
  return open.length > 0 ? [`/limits: without maxLimit or defaultLimit, anyone may list all of ${names}`] : []
}

function warnOfPlainForm(config: CollectionConfig, { name }: Collection, at: string): readonly string[] {
  if (name !== USERS) return []
  return Object.entries(config.permissions ?? {}).flatMap(([subject, grant]) =>
    typeof grant === 'object' && (Object.hasOwn(grant, 'pick') || Object.hasOwn(grant, 'omit'))
      ? [`${at}/permissions${toPointerPart(subject)}: the plain form lets ${subject} read every account`]
      : [],
  )
}

/** A field that a document must have, though no rule under which it is created accepts or sets it. */
function warnOfUnfillable(collection: Collection, auth: AuthPlan | null, at: string): readonly string[] {
  const rules = [...collection.permissions.create.values()].filter((rule) => rule !== null)
  if (rules.length === 0) return []
  const credentials =
    auth?.users === collection && auth.register ? [auth.identifier.name, auth.secret.name] : []
  return collection.fields.flatMap(({ name, definition }) => {
    const isFilled =
      !definition.required ||
      ('default' in definition && definition.default !== undefined) ||
      credentials.includes(name) ||
      rules.some((rule) => rule.set.has(name) || includesProperty(rule.properties, name))
    return isFilled
      ? []
      : [`${at}/schema${toPointerPart(name)}: is required, but nobody who creates can fill it`]
  })
}

const WRITES: readonly Operation[] = ['create', 'update', 'delete']

/** The most specific subject decides a write, so it may take away what everyone has. */
function warnOfLesserRights({ permissions, fields }: Collection, at: string): readonly string[] {
  return WRITES.flatMap((operation) => {
    const everyone = permissions[operation].get(EVERYONE)
    if (!everyone) return []
    return [...permissions[operation]].flatMap(([subject, rule]) => {
      if (subject !== SIGNED_IN && !isRole(subject)) return []
      const isLess =
        rule === null ||
        isNarrower(
          rule,
          everyone,
          fields.map(({ name }) => name),
        )
      const place = `${at}/permissions${toPointerPart(subject)}`
      return isLess
        ? [`${place}: ${subject} may ${operation} less than * may, for the most specific subject decides`]
        : []
    })
  })
}

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

/** A role that nobody can have, because the role field does not allow it. */
function warnOfUnknownRoles(
  { permissions }: Collection,
  collections: ReadonlyMap<string, Collection>,
  at: string,
): readonly string[] {
  const users = collections.get(USERS)
  const definition = users?.fields.find(({ name }) => name === users.roleField)?.definition
  const holder = definition?.type === 'array' ? definition.items : definition
  const allowed = holder?.type === 'string' ? holder.enum : undefined
  if (!allowed) return []
  const subjects = new Set(Object.values(permissions).flatMap((rules) => [...rules.keys()]))
  return [...subjects].flatMap((subject) =>
    isRole(subject) && !allowed.includes(subject)
      ? [
          `${at}/permissions${toPointerPart(subject)}: the role field does not allow ${JSON.stringify(subject)}`,
        ]
      : [],
  )
}
