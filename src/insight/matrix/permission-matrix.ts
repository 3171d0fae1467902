import type { ServicePlan } from '../../config/plan.js'
import { settleShape } from '../../config/shape/settle-shape.js'
import type { KnownCaller } from '../../permissions/caller.js'
import { isRole } from '../../permissions/grants.js'
import type { CollectionConfig, Config } from '../../types.js'
import { compileForInsight } from '../compile.js'
import type { InsightOptions } from '../options.js'
import { describeCondition } from '../text/describe-condition.js'
import { bindAnonymous } from './anonymous.js'
import { describeCaller } from './describe-caller.js'
import { describedBy } from './describe-rule.js'
import type { CallerMatrix, CollectionMatrix, MatrixCaller, MatrixClaim, PermissionMatrix } from './types.js'

/**
 * Describes the permissions of a configuration: for every collection, operation and kind of caller the documents, the
 * fields, the forced values, and their rules (CONTRACT.md §8, "Matrix"). Rules without effect for a caller are not
 * named. Throws `ConfigError` where a service would.
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

/**
 * The matrix of a compiled configuration. With `authenticate`, the host names the caller, and there is no registration.
 */
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

/** The roles that permissions name, in the order of the configuration. */
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
