import { findClaimFields } from '../../../core/claims/config/claim-fields.js'
import type { AuthPlan, ServicePlan } from '../../../core/config/plan.js'
import { settleShape } from '../../../core/config/shape/settle-shape.js'
import { type ComparableType, isNothing, type Scalar } from '../../../core/filter/filter.js'
import type { KnownCaller } from '../../../core/permissions/caller.js'
import { EVERYONE, isRole, OWNER, type Rule, type RuleOperation } from '../../../core/permissions/grants.js'
import { selectReadRules } from '../../../core/permissions/read-gate.js'
import { bindSet, selectWriteRules } from '../../../core/permissions/write-rules.js'
import type { Binding } from '../../../core/query/variable.js'
import { bindWhere } from '../../../core/query/where.js'
import { isClosedTo, rulesToCreate } from '../../../core/request/authorize.js'
import type { CollectionConfig, Config } from '../../../core/types.js'
import { compileForInsight } from '../compile.js'
import type { InsightOptions } from '../options.js'
import { describeCondition } from '../text/describe-condition.js'
import { addUp, cutUnreachable, hasField, scopeOf, tidy } from './decide.js'
import { describedBy, describeRule, type RuleContext } from './describe-rule.js'
import type {
  CallerMatrix,
  CollectionMatrix,
  MatrixCaller,
  MatrixClaim,
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
function bindAnonymous(config: Partial<Config>, { claims }: ServicePlan): Binding {
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

/**
 * Whether a rule can run for an anonymous caller. A rule that cannot run can be left out, because anonymous callers
 * have only one rule for each operation.
 */
const canRun = (rule: Rule, binding: Binding): boolean =>
  [rule.where, rule.check].every((where) => !isNothing(bindWhere(where, binding))) &&
  bindSet(rule, { caller: null, binding }) !== undefined

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
  const rule = users.permissions.create.get(EVERYONE)
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
  describePermissions(compileForInsight(config, options), config, options.authenticate)

/** Describes the permissions of a compiled configuration. With `authenticate`, there is no registration. */
export function describePermissions(
  plan: ServicePlan,
  config: unknown,
  authenticate = false,
): PermissionMatrix {
  const settled = settleShape(config)
  const accounts = authenticate ? null : plan.auth
  const anonymous = bindAnonymous(settled, plan)
  const all = [...plan.collections.values()].map((collection) => describedBy(settled, collection))
  const roles = new Set(all.flatMap(({ written }) => rolesOf(written)))
  return {
    collections: all.map((described): CollectionMatrix => {
      const own = rolesOf(described.written)
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
    claims: describeClaims(settled),
  }
}

/** Returns the roles that permissions name, in the order of the configuration. */
const rolesOf = ({ permissions = {} }: CollectionConfig): readonly string[] =>
  Object.keys(permissions).filter(isRole)

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
