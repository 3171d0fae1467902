import { grantPointer, rulePointer } from '../../../core/config/compile-permissions.js'
import type { Collection, CookiePlan, ServicePlan } from '../../../core/config/plan.js'
import type { Field } from '../../../core/fields/field-type.js'
import { USERS } from '../../../core/fields/schema/names.js'
import { isEqualJson } from '../../../core/json/equality.js'
import { isObject } from '../../../core/json/own-properties.js'
import { toPointerPart } from '../../../core/json/pointer.js'
import { EVERYONE, listRules, OPERATIONS } from '../../../core/permissions/grants.js'
import { ruleToRegister } from '../../../core/request/authorize.js'
import type { JsonObject } from '../../../core/types.js'
import { keyOfEffect } from './model/rule-keys.js'
import type { Plans, StructureDifference } from './types.js'

/** Returns the pointers of the rules that use a claim, or a claim that uses it. */
function rulesThatUse({ collections, claims }: ServicePlan, claim: string): readonly string[] {
  const over = [...claims.values()].flatMap(({ name, bases }) => (bases.includes(claim) ? [name] : []))
  return [...collections.values()].flatMap((collection) =>
    OPERATIONS.flatMap((operation) =>
      [claim, ...over].flatMap((name) => rulesOfOperation(collection, operation, name)),
    ),
  )
}

const rulesOfOperation = (
  { name, permissions }: Collection,
  operation: (typeof OPERATIONS)[number],
  claim: string,
): readonly string[] =>
  listRules(permissions[operation]).flatMap((rule) =>
    rule.claims.includes(claim) ? [rulePointer(name, rule)] : [],
  )

/** Describes the consequences of a changed right to read `target`: which references can be stored and expanded. */
export const followReading = ({ collections, auth }: ServicePlan, target: string): readonly string[] =>
  [...collections.values()].flatMap((collection) => {
    const paths = [
      ...collection.fields.flatMap((field) => pathsTo(field, target)),
      ...(auth?.users.name === target ? ['createdBy'] : []),
    ]
    return paths.map((path) =>
      path === 'createdBy'
        ? `${collection.name}.createdBy can be expanded to documents that may be read here`
        : `${collection.name}.${path} can refer to documents that may be read here, and can be expanded to them`,
    )
  })

/** Returns the paths in a field that refer to a collection. */
function pathsTo({ path, definition, items, properties }: Field, target: string): readonly string[] {
  if (definition.type === 'reference') return definition.collection === target ? [path] : []
  return [...new Set([...(items ? [items] : []), ...properties].flatMap((one) => pathsTo(one, target)))]
}

/** Returns a collection without permissions, as a substitute in the configuration that lacks the collection. */
export const withoutPermissions = (collection: Collection): Collection => ({
  ...collection,
  permissions: { create: new Map(), read: new Map(), update: new Map(), delete: new Map() },
})

type StructureKind = StructureDifference['kind']

/** Compares schemas, limits and `auth`. Each difference has a JSON pointer. */
export function compareStructure(
  { before, after }: Plans,
  written: BothConfigs,
): readonly StructureDifference[] {
  const names = [...new Set([...before.collections.keys(), ...after.collections.keys()])]
  return [
    ...names.flatMap((name) =>
      compareParts('schema', `/collections${toPointerPart(name)}`, [
        schemaOf(before.collections.get(name)),
        schemaOf(after.collections.get(name)),
      ]),
    ),
    ...compareParts('limits', '/limits', [before.limits, after.limits]),
    ...compareParts('auth', '/auth', [authOf(before), authOf(after)]).map((one) =>
      ASKED_OF_ACCOUNTS.includes(one.pointer) ? { ...one, follows: followAccounts({ before, after }) } : one,
    ),
    ...compareRegistration({ before, after }, written),
    ...compareClaims({ before, after }, written),
  ]
}

/** The settings that decide which accounts a claim includes. */
const ASKED_OF_ACCOUNTS: readonly string[] = ['/auth/requireVerified', '/auth/verifiedField']

/** Returns the rules that use a claim whose values come from accounts, if such claims may now include other accounts. */
const followAccounts = ({ before, after }: Pick<Plans, 'before' | 'after'>): readonly string[] => {
  const names = [before, after].flatMap(({ claims }) =>
    [...claims.values()].flatMap(({ name, from }) => (from === USERS ? [name] : [])),
  )
  const rules = [before, after].flatMap((plan) => names.flatMap((name) => rulesThatUse(plan, name)))
  return before.auth?.requiresVerified || after.auth?.requiresVerified ? [...new Set(rules)] : []
}

/** The parts of a configuration that are compared as written, not as compiled. */
export interface WrittenConfig {
  readonly claims: JsonObject
  /** The `create` grant of `*` in `users`; `undefined` if there is none. */
  readonly registration: unknown
}

/** The parts of both configurations that are compared as written. */
interface BothConfigs {
  readonly before: WrittenConfig
  readonly after: WrittenConfig
}

type ValuePair = readonly [before: unknown, after: unknown]

/** Returns the parts of two values that differ. Objects are compared property by property, at every depth. */
function compareParts(
  kind: StructureKind,
  pointer: string,
  [before, after]: ValuePair,
): readonly StructureDifference[] {
  if (isEqualJson(before, after)) return []
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    return names.flatMap((name) =>
      compareParts(kind, pointer + toPointerPart(name), [before[name], after[name]]),
    )
  }
  return [
    {
      kind,
      pointer,
      ...(before === undefined ? {} : { before }),
      ...(after === undefined ? {} : { after }),
      follows: [],
    },
  ]
}

/**
 * Returns the compared parts of a collection's schema. They do not include uniqueness and the effect of a delete on
 * references, because a request for one document does not show these.
 */
function schemaOf(collection: Collection | undefined): JsonObject | undefined {
  if (!collection) return undefined
  return {
    schema: Object.fromEntries(collection.fields.map((field) => [field.name, definitionOf(field)])),
    additionalProperties: collection.additionalProperties,
    changes: collection.hasChanges,
  }
}

/** Returns a difference if the accounts are stored under another name, which no other collection can take over. */
export function compareAccounts({ before, after }: Plans): readonly StructureDifference[] {
  const [was, is] = [before, after].map(({ collections }) => collections.get(USERS)?.storedName)
  if (was === undefined || is === undefined) return []
  return compareParts('schema', `/collections/${USERS}/stored`, [was, is])
}

/** Returns a definition without the attributes that do not affect a request for one document. */
function definitionOf(field: Field): JsonObject {
  const { definition, items, properties } = field
  const kept = Object.entries(definition).filter(([attribute]) => !UNCOMPARED.includes(attribute))
  return {
    ...Object.fromEntries(kept),
    ...(items ? { items: definitionOf(items) } : {}),
    ...(properties.length > 0
      ? { properties: Object.fromEntries(properties.map((one) => [one.name, definitionOf(one)])) }
      : {}),
  }
}

const UNCOMPARED: readonly string[] = ['$comment', 'description', 'unique', 'index', 'onDelete', 'fill']

/** Returns the settings of accounts; `undefined` if the service has no accounts. */
function authOf({ auth }: ServicePlan): JsonObject | undefined {
  if (!auth) return undefined
  return {
    identifier: auth.identifier.name,
    secret: auth.secret.name,
    roleField: auth.users.roleField,
    register: auth.register,
    sessionDays: auth.sessionMilliseconds / 86_400_000,
    sessions: auth.sessions,
    cost: auth.cost,
    verifiedField: auth.verified?.name ?? null,
    requireVerified: auth.requiresVerified,
    resetMinutes: auth.resetMilliseconds / 60_000,
    cookie: auth.cookie && cookieOf(auth.cookie),
  }
}

const cookieOf = ({ name, path, sameSite, origins }: CookiePlan): JsonObject => ({
  name,
  path,
  sameSite: sameSite.toLowerCase(),
  origins: [...origins],
})

/** Compares the fields that a registration accepts and sets. The comparison of creates does not cover these. */
function compareRegistration(
  { before, after }: Pick<Plans, 'before' | 'after'>,
  written: BothConfigs,
): readonly StructureDifference[] {
  if (!before.auth?.register || !after.auth?.register) return []
  if (keyOfEffect(ruleToRegister(before.auth)) === keyOfEffect(ruleToRegister(after.auth))) return []
  const pointer = `${grantPointer(USERS, EVERYONE)}/create`
  const both: ValuePair = [written.before.registration, written.after.registration]
  return compareParts('auth', pointer, both).map((one) => ({
    ...one,
    follows: ['decides what a registration accepts and sets'],
  }))
}

/** Returns the claims that differ, each with the rules that use it. */
function compareClaims(
  { before, after }: Pick<Plans, 'before' | 'after'>,
  written: BothConfigs,
): readonly StructureDifference[] {
  const [all, others] = [written.before.claims, written.after.claims]
  const names = [...new Set([...Object.keys(all), ...Object.keys(others)])]
  return names.flatMap((name): readonly StructureDifference[] => {
    const [was, is] = [all[name], others[name]]
    if (isEqualJson(was, is)) return []
    const follows = [...new Set([...rulesThatUse(before, name), ...rulesThatUse(after, name)])]
    return [
      {
        kind: 'auth',
        pointer: `/auth/claims${toPointerPart(name)}`,
        ...(was === undefined ? {} : { before: was }),
        ...(is === undefined ? {} : { after: is }),
        follows: follows.map((pointer) => `is used by ${pointer}`),
      },
    ]
  })
}
