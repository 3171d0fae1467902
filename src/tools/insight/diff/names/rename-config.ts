import type { ServicePlan } from '../../../../core/config/plan.js'
import { USERS } from '../../../../core/fields/schema/names.js'
import { isObject } from '../../../../core/json/own-properties.js'
import { USER } from '../../../../core/query/variable.js'
import type { Config, JsonObject } from '../../../../core/types.js'
import { type CollectionMatch, createNames, type FieldMatches, type Matches } from './match-names.js'

/** The names of a configuration, and those that it gets. */
export interface Renaming {
  readonly matches: Matches
  /** Returns the new name of a caller's field or claim, which is a dotted path. */
  readonly callerPath: (path: string) => string
  /** The new names of claims. */
  readonly claims: ReadonlyMap<string, string>
}

/**
 * Creates the renaming of `before`. If `isHosted`, the host identifies callers, so that their fields are not those of
 * `users`. A claim gets another name if a field of `users` gets its name.
 */
export function createRenaming(before: ServicePlan, matches: Matches, isHosted: boolean): Renaming {
  const users = matches.get(USERS)?.fields ?? NONE
  const fields = isHosted ? NONE : users
  const names = Array.from(fields.values(), ({ common }) => common)
  const create = createNames([...before.claims.keys(), ...names, ...fields.keys()])
  const claims = new Map(
    Array.from(before.claims.keys(), (name) => [name, names.includes(name) ? create(name) : name]),
  )
  return { matches, claims, callerPath: (path) => claims.get(path) ?? renamePath(fields, path) }
}

const NONE: FieldMatches = new Map()

/** Renames the fields of a dotted path. The elements of arrays have no names. */
export function renamePath(fields: FieldMatches, path: string): string {
  const [first = path, ...rest] = path.split('.')
  const match = fields.get(first)
  if (!match) return path
  return rest.length === 0 ? match.common : `${match.common}.${renamePath(match.inside, rest.join('.'))}`
}

/** Renames the properties of a value, and those inside them. Other properties keep their names. */
export function renameValue(fields: FieldMatches, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((element) => renameValue(fields, element))
  if (!isObject(value) || fields.size === 0) return value
  return mapEntries(value, (name, inner) => {
    const match = fields.get(name)
    return match ? [match.common, renameValue(match.inside, inner)] : [name, inner]
  })
}

/** Returns a valid configuration by its new names, without stored names and `erase`. `undefined` keeps the names. */
export function renameConfig(config: Partial<Config>, renaming: Renaming | undefined): JsonObject {
  const { collections = {}, auth, limits } = config
  const named = renaming ?? KEEP
  return {
    collections: mapEntries(collections, (name, collection) => {
      const match = named.matches.get(name) ?? KEPT
      return [
        renameCollectionName(named, name),
        renameCollection({ ...named, match }, collection as JsonObject),
      ]
    }),
    ...(auth ? { auth: renameAuth(named, { ...auth }) } : {}),
    ...(limits ? { limits } : {}),
  }
}

const KEEP: Renaming = { matches: new Map(), claims: new Map(), callerPath: (path) => path }

const KEPT: CollectionMatch = {
  common: '',
  fields: NONE,
  freeName: (name) => name,
  hidden: new Set(),
}

const renameCollectionName = ({ matches }: Renaming, name: string): string =>
  matches.get(name)?.common ?? name

/** The renaming of one collection. */
interface CollectionRenaming extends Renaming {
  readonly match: CollectionMatch
}

function renameCollection(own: CollectionRenaming, collection: JsonObject): JsonObject {
  const { stored: _, erase: __, schema, permissions, indexes, ...others } = collection
  return {
    ...others,
    schema: renameSchema(own, own.match.fields, schema),
    ...(isObject(permissions)
      ? { permissions: mapEntries(permissions, (subject, grant) => [subject, renameGrant(own, grant)]) }
      : {}),
    ...(Array.isArray(indexes)
      ? {
          indexes: indexes.map((index) => ({
            ...index,
            fields: index.fields.map((path: string) => renamePath(own.match.fields, path)),
          })),
        }
      : {}),
  }
}

function renameSchema(own: CollectionRenaming, fields: FieldMatches, schema: unknown): JsonObject {
  return mapEntries(isObject(schema) ? schema : {}, (name, definition) => {
    const { common = name, inside = NONE } = fields.get(name) ?? {}
    return [common, renameDefinition(own, inside, definition)]
  })
}

function renameDefinition(own: CollectionRenaming, inside: FieldMatches, definition: unknown): unknown {
  if (!isObject(definition)) return definition
  const { stored: _, fill: __, ...others } = definition
  const { properties, items, collection, match } = others
  const target = typeof collection === 'string' ? own.matches.get(collection) : undefined
  return {
    ...others,
    ...(isObject(properties) ? { properties: renameSchema(own, inside, properties) } : {}),
    ...(isObject(items) ? { items: renameDefinition(own, inside, items) } : {}),
    ...('default' in others ? { default: renameValue(inside, others.default) } : {}),
    ...(target ? { collection: target.common } : {}),
    ...(isObject(match)
      ? {
          match: mapEntries(match, (here, there) => [
            renamePath(own.match.fields, here),
            renamePath(target?.fields ?? NONE, String(there)),
          ]),
        }
      : {}),
  }
}

/** Renames a right in each of its forms: a boolean, the rules of each operation, or the short form for all of them. */
function renameGrant(own: CollectionRenaming, grant: unknown): unknown {
  if (Array.isArray(grant)) return grant.map((rule) => renameGrant(own, rule))
  if (!isObject(grant)) return grant
  const { fields, freeName } = own.match
  const rename = (name: string): string => fields.get(name)?.common ?? freeName(name)
  return mapEntries(grant, (part, value) => {
    if (part === 'pick' || part === 'omit') return [part, (value as readonly string[]).map(rename)]
    if (part === 'where' || part === 'check') return [part, renameWhere(own, value)]
    if (part !== 'set' || !isObject(value)) return [part, renameGrant(own, value)]
    const set = mapEntries(value, (name, inner) => [
      rename(name),
      renameValue(fields.get(name)?.inside ?? NONE, renameVariables(own, inner)),
    ])
    return [part, set]
  })
}

function renameWhere(own: CollectionRenaming, where: unknown): unknown {
  if (Array.isArray(where)) return where.map((one) => renameWhere(own, one))
  if (!isObject(where)) return where
  return mapEntries(where, (name, condition) =>
    name === '$or' || name === '$and'
      ? [name, renameWhere(own, condition)]
      : [renamePath(own.match.fields, name), renameCondition(own, condition)],
  )
}

const renameCondition = (own: Renaming, condition: unknown): unknown =>
  isObject(condition)
    ? mapEntries(condition, (operator, operand) => [
        operator,
        // The dollars of a pattern are not those of variables.
        operator === '$regex' ? operand : renameVariables(own, operand),
      ])
    : renameVariables(own, condition)

/** Renames the variables in a value, at any depth. */
function renameVariables(own: Renaming, value: unknown): unknown {
  if (typeof value === 'string')
    return value.startsWith(USER) ? USER + own.callerPath(value.slice(USER.length)) : value
  if (Array.isArray(value)) return value.map((element) => renameVariables(own, element))
  return isObject(value) ? mapEntries(value, (name, inner) => [name, renameVariables(own, inner)]) : value
}

const NAMING_FIELDS: readonly string[] = ['identifier', 'secret', 'roleField', 'verifiedField']

function renameAuth(own: Renaming, auth: JsonObject): JsonObject {
  const users = own.matches.get(USERS)?.fields ?? NONE
  return mapEntries(auth, (part, value) => {
    if (NAMING_FIELDS.includes(part))
      return [part, typeof value === 'string' ? renamePath(users, value) : value]
    if (part !== 'claims' || !isObject(value)) return [part, value]
    return [part, mapEntries(value, (name, claim) => [own.claims.get(name) ?? name, renameClaim(own, claim)])]
  })
}

function renameClaim(own: Renaming, claim: unknown): unknown {
  if (!isObject(claim)) return claim
  const from = String(claim.from)
  const match = own.matches.get(from) ?? KEPT
  return {
    ...claim,
    from: renameCollectionName(own, from),
    where: renameWhere({ ...own, match }, claim.where),
    take: renamePath(match.fields, String(claim.take)),
  }
}

const mapEntries = (
  object: object,
  map: (name: string, value: unknown) => readonly [name: string, value: unknown],
): JsonObject => Object.fromEntries(Object.entries(object).map(([name, value]) => map(name, value)))
