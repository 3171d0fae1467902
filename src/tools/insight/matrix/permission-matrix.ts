import { findClaimFields } from '../../../core/claims/config/claim-fields.js'
import { rulePointer } from '../../../core/config/compile-permissions.js'
import type { AuthPlan, Collection, ServicePlan } from '../../../core/config/plan.js'
import { SYSTEM_FIELDS, USERS } from '../../../core/fields/schema/names.js'
import { type ComparableType, isNothing, type Scalar } from '../../../core/filter/filter.js'
import type { KnownCaller } from '../../../core/permissions/caller.js'
import {
  EVERYONE,
  includesProperty,
  isRole,
  OWNER,
  type Rule,
  type RuleOperation,
  rulesOf,
} from '../../../core/permissions/grants.js'
import { selectReadRules } from '../../../core/permissions/read-gate.js'
import { acceptsProperty, bindSet, selectWriteRules } from '../../../core/permissions/write-rules.js'
import type { Binding } from '../../../core/query/variable.js'
import { bindWhere, isAnywhere } from '../../../core/query/where.js'
import { isClosedTo, rulesToCreate } from '../../../core/request/authorize.js'
import type { Config, WhereConfig } from '../../../core/types.js'
import { compileForInsight } from '../compile.js'
import type { InsightOptions } from '../options.js'
import { describeCondition } from '../text/describe-condition.js'
import { findRule, grantsOf } from '../written-rules.js'
import { cutUnreachable, isSameCondition, keyOf } from './decide.js'
import type {
  CallerMatrix,
  CollectionMatrix,
  MatrixCaller,
  MatrixClaim,
  MatrixCondition,
  MatrixFields,
  MatrixRule,
  PermissionMatrix,
} from './types.js'

/** A sample value of each type, for claims whose values are unknown. */
const SAMPLES: { readonly [type in ComparableType]: Scalar } = {
  string: '',
  timestamp: '2026-01-01T00:00:00.000Z',
  number: 0,
  integer: 0,
  boolean: true,
}

/** Returns the variables of an anonymous caller. It has no fields, and only claims that do not depend on `$user`. */
function bindAnonymous({ claims, config }: ServicePlan): Binding {
  const now = SAMPLES.timestamp as string
  const plain: Binding = { user: null, now }
  const fields = findClaimFields(config)
  return {
    ...plain,
    claims: {
      has: (name) => claims.has(name),
      get(name) {
        const claim = claims.get(name)
        let isLacking = claim === undefined
        if (claim)
          bindWhere(claim.where, plain, () => {
            isLacking = true
          })
        const type = fields.get(name)?.items?.fieldType
        const sample = SAMPLES[type?.isScalar ? type.valueType : 'string']
        return isLacking ? undefined : { values: [sample], isWhole: true }
      },
    },
  }
}

/** Whether a rule can run for an anonymous caller. */
const canRun = (rule: Rule, binding: Binding): boolean =>
  [rule.where, rule.check].every((where) => !isNothing(bindWhere(where, binding))) &&
  bindSet(rule, { caller: null, binding }) !== undefined

/** A compiled collection and its source. Both are needed because compiled rules do not keep the text of conditions. */
interface RuleContext {
  readonly collection: Collection
  readonly config: Partial<Config>
  /** The field that a document must have to be visible to callers without a role; `null` if there is none. */
  readonly shownWith: string | null
}

/** Returns a compiled collection with its source. */
const describedBy = (config: Partial<Config>, collection: Collection): RuleContext => ({
  collection,
  config,
  shownWith: collection.name === USERS && config.auth?.requireVerified ? collection.verifiedField : null,
})

/** The property names that an operation can concern. */
interface FieldScope {
  /** The names in the order of the schema, then system fields. */
  readonly names: readonly string[]
  /** Whether there may be undeclared names too. A body can always contain them. */
  readonly isOpen: boolean
}

/** Returns the fields that a collection could show, or accept from a body. */
function scopeOf(
  { fields, additionalProperties, verifiedField }: Collection,
  operation: RuleOperation,
): FieldScope {
  const declared = fields.filter(({ name, type }) =>
    operation === 'read' ? type !== 'hash' : name !== verifiedField,
  )
  const system = operation === 'read' ? SYSTEM_FIELDS.filter((name) => name !== '_id') : []
  const isOpen = operation !== 'read' || additionalProperties
  return { names: [...declared.map(({ name }) => name), ...system], isOpen }
}

/** Returns the fields that a rule shows, or accepts from a body. */
function fieldsOf(rule: Rule, collection: Collection, operation: RuleOperation): MatrixFields {
  const scope = scopeOf(collection, operation)
  const { pick, omit } = rule.properties
  const includes = (name: string): boolean =>
    operation === 'read' ? includesProperty(rule.properties, name) : acceptsProperty(rule, name, collection)
  const undeclared = scope.isOpen ? [...(pick ?? omit)].filter((name) => !isDeclared(collection, name)) : []
  const names = [...scope.names, ...undeclared]
  return pick === null
    ? { kind: 'except', names: names.filter((name) => !includes(name)) }
    : { kind: 'only', names: names.filter(includes) }
}

const isDeclared = ({ fields }: Collection, name: string): boolean =>
  fields.some((field) => field.name === name) || (SYSTEM_FIELDS as readonly string[]).includes(name)

/** Returns the shortest form of a set of fields. Undeclared names follow those of the schema. */
function tidy(fields: MatrixFields, { names: known, isOpen }: FieldScope): MatrixFields {
  if (fields.kind === 'all') return ALL
  const place = (name: string): number => (known.includes(name) ? known.indexOf(name) : known.length)
  const names = [...new Set(fields.names)].sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1))
  const isWhole =
    fields.kind === 'except' ? names.length === 0 : !isOpen && known.every((name) => names.includes(name))
  return isWhole ? ALL : { kind: fields.kind, names }
}

const ALL: MatrixFields = { kind: 'all' }

/** Whether a set contains a field. */
const hasField = (fields: MatrixFields, name: string): boolean =>
  fields.kind === 'all' || fields.names.includes(name) === (fields.kind === 'only')

/** Returns the union of two sets. */
function unite(a: MatrixFields, b: MatrixFields): MatrixFields {
  if (a.kind === 'all' || b.kind === 'all') return ALL
  if (a.kind === 'only' && b.kind === 'only') return { kind: 'only', names: [...a.names, ...b.names] }
  const [except, other] = a.kind === 'except' ? [a, b] : [b, a]
  return { kind: 'except', names: except.names.filter((name) => !hasField(other, name)) }
}

/** Whether the set `outer` contains all fields of `inner`. */
function covers(outer: MatrixFields, inner: MatrixFields): boolean {
  if (outer.kind === 'all') return true
  if (inner.kind === 'only') return inner.names.every((name) => hasField(outer, name))
  const missing = inner.kind === 'all' ? [] : inner.names
  return outer.kind === 'except' && outer.names.every((name) => missing.includes(name))
}

/**
 * Combines rules for read or delete, whose rights add up. Rules for the same documents are joined into one. A rule is
 * left out if a rule for all documents gives the same rights.
 */
function addUp(rules: readonly MatrixRule[], scope: FieldScope): readonly MatrixRule[] {
  const joined: MatrixRule[] = []
  for (const rule of rules) {
    const place = joined.findIndex(({ where }) => isSameCondition(where, rule.where))
    const known = joined[place]
    if (known) joined[place] = joinRules(known, rule, scope)
    else joined.push(rule)
  }
  const open = joined.find(({ where }) => where === null)
  return joined.filter((rule) => rule === open || !open || !coversRule(open, rule))
}

/**
 * Joins two rules for the same documents into one. If a rule has all fields of the other and more, it is the result.
 */
function joinRules(a: MatrixRule, b: MatrixRule, scope: FieldScope): MatrixRule {
  if (a.fields && b.fields && !isSameRule(a, b)) {
    if (covers(a.fields, b.fields)) return a
    if (covers(b.fields, a.fields)) return b
  }
  const pointers = [...a.pointers, ...b.pointers]
  const fields = a.fields && b.fields && tidy(unite(a.fields, b.fields), scope)
  if (!a.where || !b.where) return { ...a, pointers, fields }
  const where = { ...a.where, pointers: [...new Set([...a.where.pointers, ...b.where.pointers])] }
  return { ...a, pointers, fields, where }
}

const coversRule = (outer: MatrixRule, inner: MatrixRule): boolean =>
  !outer.fields || !inner.fields || covers(outer.fields, inner.fields)

/** Whether two rules have the same meaning, apart from their pointers. */
const isSameRule = (a: MatrixRule, b: MatrixRule): boolean => keyOf([a]) === keyOf([b])

/** Describes a rule in words. */
function describeRule(rule: Rule, operation: RuleOperation, described: RuleContext): MatrixRule {
  const { collection, config } = described
  const written = findRule(config, collection.name, rule, operation)
  const pointer = written?.pointer ?? rulePointer(collection.name, rule)
  const where = conditionAt(`${pointer}/where`, written?.rule?.where)
  const narrowed = operation === 'read' && !isRole(rule.subject) ? narrow(where, described) : where
  const check = rule.check === rule.where ? narrowed : conditionAt(`${pointer}/check`, written?.rule?.check)
  const isBody = operation === 'create' || operation === 'update'
  return {
    pointers: [pointer],
    where: isAnywhere(rule.where) ? null : narrowed,
    fields:
      operation === 'delete'
        ? null
        : tidy(fieldsOf(rule, collection, operation), scopeOf(collection, operation)),
    set: Object.fromEntries(rule.set),
    check: isBody && !isAnywhere(rule.check) ? check : null,
  }
}

const conditionAt = (pointer: string, where: WhereConfig = {}): MatrixCondition => ({
  text: describeCondition(where),
  where,
  pointers: [pointer],
})

/** Adds the condition that an account is verified. Only roles see all accounts (CONTRACT.md §4, "No enumeration"). */
function narrow(condition: MatrixCondition, { shownWith }: RuleContext): MatrixCondition {
  if (shownWith === null) return condition
  const verified: WhereConfig = { [shownWith]: { $exists: true } }
  const isAlone = Object.keys(condition.where).length === 0
  const where = isAlone ? verified : { $and: [verified, condition.where] }
  const pointers = ['/auth/requireVerified', ...(isAlone ? [] : condition.pointers)]
  return { text: describeCondition(where), where, pointers }
}

/** The inputs for describing the rights of callers in a collection. */
interface CallerScope {
  readonly described: RuleContext
  /** The accounts, if the service keeps accounts. */
  readonly accounts: AuthPlan | null
  /** The variables of an anonymous caller. */
  readonly anonymous: Binding
}

/** Describes the rights of a kind of caller. For signed-in callers, the rights to their own documents follow. */
function describeCaller(
  caller: MatrixCaller,
  known: KnownCaller | null,
  scope: CallerScope,
): readonly CallerMatrix[] {
  const { described, accounts } = scope
  const { collection } = described
  const creator = { caller: known, service: { accounts } }
  const create = isClosedTo(creator, collection) ? [] : rulesToCreate(creator, collection)
  const registers = known === null && accounts?.users === collection && accounts.register
  const { read, update, delete: removal } = describeExisting(known, false, scope)
  const main: CallerMatrix = {
    caller,
    isOwner: false,
    create: cutUnreachable(describeAll(create, 'create', known, scope)),
    ...(registers ? { register: describeRegistration(accounts, scope) } : {}),
    read,
    update,
    delete: removal,
  }
  return known === null ? [main] : [main, { caller, isOwner: true, ...describeExisting(known, true, scope) }]
}

/** Describes the rights of a caller to existing documents. */
function describeExisting(
  known: KnownCaller | null,
  isOwner: boolean,
  scope: CallerScope,
): Pick<CallerMatrix, 'read' | 'update' | 'delete'> {
  const { described } = scope
  const { collection } = described
  const mine = (rules: readonly Rule[]): readonly Rule[] =>
    rules.filter(({ subject }) => isOwner || subject !== OWNER)
  const read = addUp(
    describeAll(mine(selectReadRules(collection.permissions, known)), 'read', known, scope),
    scopeOf(collection, 'read'),
  )
  // A caller can change only documents that it may read.
  const select = (operation: 'update' | 'delete'): readonly Rule[] =>
    read.length > 0 ? mine(selectWriteRules(collection.permissions[operation], known)) : []
  return {
    read,
    update: cutUnreachable(describeAll(select('update'), 'update', known, scope)),
    delete: addUp(describeAll(select('delete'), 'delete', known, scope), scopeOf(collection, 'delete')),
  }
}

/** Describes the rules that can run for a caller. */
const describeAll = (
  rules: readonly Rule[],
  operation: RuleOperation,
  known: KnownCaller | null,
  { described, anonymous }: CallerScope,
): readonly MatrixRule[] =>
  rules
    .filter((rule) => known !== null || canRun(rule, anonymous))
    .map((rule) => describeRule(rule, operation, described))

/**
 * Describes registration. It accepts the identifier, the secret, and what `*` may create, without the role (CONTRACT.md
 * §4).
 */
function describeRegistration(
  { users, identifier, secret }: AuthPlan,
  { described, anonymous }: CallerScope,
): readonly MatrixRule[] {
  const always = [identifier.name, secret.name]
  const fieldScope = scopeOf(users, 'create')
  const [rule] = rulesOf(users.permissions.create, EVERYONE)
  if (!rule) {
    const fields = tidy({ kind: 'only', names: always }, fieldScope)
    return [{ pointers: [], where: null, fields, set: {}, check: null }]
  }
  if (!canRun(rule, anonymous)) return []
  const said = describeRule(rule, 'create', described)
  const accepts = (name: string): boolean =>
    always.includes(name) || (name !== users.roleField && said.fields !== null && hasField(said.fields, name))
  const named = said.fields?.kind === 'only' ? said.fields.names : fieldScope.names
  const fields: MatrixFields =
    said.fields?.kind === 'only'
      ? { kind: 'only', names: [...always, ...named].filter(accepts) }
      : { kind: 'except', names: named.filter((name) => !accepts(name)) }
  return [{ ...said, fields: tidy(fields, fieldScope) }]
}

/**
 * Describes the permissions of a configuration (CONTRACT.md §8, "Matrix"). For each collection, operation and kind of
 * caller, it lists the documents, the fields, the forced values and the rules that give the right. Rules that have no
 * effect for a caller are left out. Throws `ConfigError` if a service would.
 *
 * @example
 * ```ts
 * const { collections } = permissionMatrix(config)
 * const anonymous = collections[0]?.callers.find(({ caller }) => caller.kind === 'anonymous')
 * if (anonymous?.delete.length) throw new Error('everyone may delete')
 * ```
 */
export const permissionMatrix = (config: unknown, options: InsightOptions = {}): PermissionMatrix =>
  describePermissions(compileForInsight(config, options), options.authenticate)

/** Describes the permissions of a compiled configuration. With `authenticate`, there is no registration. */
export function describePermissions(plan: ServicePlan, authenticate = false): PermissionMatrix {
  const { config } = plan
  const accounts = authenticate ? null : plan.auth
  const anonymous = bindAnonymous(plan)
  const all = [...plan.collections.values()].map((collection) => describedBy(config, collection))
  const roles = new Set(all.flatMap(rolesIn))
  return {
    collections: all.map((described): CollectionMatrix => {
      const own = rolesIn(described)
      const scope = { described, accounts, anonymous }
      const describe = (caller: MatrixCaller): readonly CallerMatrix[] =>
        describeCaller(caller, knownAs(caller), scope)
      const callers: readonly MatrixCaller[] = [
        { kind: 'anonymous' },
        { kind: 'user' },
        ...[...new Set([...own, ...roles])].map((role) => ({ kind: 'role', role }) as const),
      ]
      return { name: described.collection.name, roles: own, callers: callers.flatMap(describe) }
    }),
    claims: describeClaims(config),
  }
}

/** Returns the roles that permissions name, in the order of the configuration. */
const rolesIn = ({ config, collection }: RuleContext): readonly string[] =>
  Object.keys(grantsOf(config, collection.name)).filter(isRole)

const knownAs = (caller: MatrixCaller): KnownCaller | null =>
  caller.kind === 'anonymous'
    ? null
    : { id: '', roles: caller.kind === 'role' ? [caller.role] : [], fields: {} }

const describeClaims = ({ auth }: Partial<Config>): readonly MatrixClaim[] =>
  Object.entries(auth?.claims ?? {}).map(([name, { from, where, take }]) => ({
    name,
    from,
    take,
    condition: { text: describeCondition(where), where, pointers: [`/auth/claims/${name}`] },
  }))
