import type { Collection } from '../../config/plan.js'
import type { Field } from '../../fields/field-type.js'
import { holdsImmutable } from '../../fields/schema/changes.js'
import { listRules } from '../../permissions/grants.js'
import { isAnywhere } from '../../query/where.js'
import { match } from '../../references/matches.js'
import { references } from '../../references/references.js'
import type { CompiledWrites, Service } from '../../request/call.js'
import type { Moments, Stage, WriteOperation } from './draft.js'
import { createAccountStage } from './stages/account.js'
import { check } from './stages/check.js'
import { drop } from './stages/drop.js'
import { hook } from './stages/hook.js'
import { immutable } from './stages/immutable.js'
import { merge } from './stages/merge.js'
import { hashes, secrets } from './stages/secrets.js'
import { set } from './stages/set.js'
import { faults, validateNew, validateUpdate } from './stages/validate.js'
import { defaults, normalise } from './stages/values.js'

/** The parts of a service on which the stages of its writes depend. */
interface Parts extends Pick<Service, 'accounts' | 'hooks'> {
  readonly plan: Pick<Service['plan'], 'matches'>
}

/**
 * Returns the stages that an operation needs in a collection, in their order. CONTRACT.md §2, "Order of faults",
 * specifies this order.
 */
export function compileWrite(
  { plan, accounts, hooks }: Parts,
  collection: Collection,
  operation: WriteOperation,
): readonly Stage[] {
  const { name, fields, permissions } = collection
  const isNew = operation === 'create'
  const granted = listRules(permissions[isNew ? 'create' : 'update'])
  const when = (isNeeded: boolean, ...stages: readonly Stage[]): readonly Stage[] => (isNeeded ? stages : [])
  const related = [
    ...when(collection.referring.length > 0, references),
    ...when(plan.matches.from.has(name) || plan.matches.to.has(name), match),
  ]
  return [
    drop,
    ...when(
      granted.some((rule) => rule.set.size > 0),
      set,
    ),
    ...when(isNew, normalise),
    ...when(isNew && fields.some(hasDefault), defaults),
    ...when(isNew, validateNew, ...related),
    ...when(!isNew, merge),
    ...when(!isNew && fields.some(holdsImmutable), immutable),
    ...when(!isNew, ...related, validateUpdate),
    faults,
    ...when(collection.hashes.length > 0, secrets),
    ...when(hooks?.has(name) === true, hook),
    ...when(collection.hashes.length > 0, hashes),
    ...(accounts?.users.name === name ? [createAccountStage(accounts)] : []),
    ...when(
      granted.some((rule) => !isAnywhere(rule.check)),
      check,
    ),
  ]
}

const hasDefault = ({ fillsInside, definition }: Field): boolean => fillsInside || 'default' in definition

/** Groups the functions of stages by moment, so that a request calls only those that exist. */
const toMoments = (stages: readonly Stage[]): Moments => ({
  read: stages.flatMap(({ read }) => read ?? []),
  judge: stages.flatMap(({ judge }) => judge ?? []),
  settle: stages.flatMap(({ settle }) => settle ?? []),
  guard: stages.flatMap(({ guard }) => guard ?? []),
})

/** Compiles the writes of all collections of a service. */
export const compileWrites = (parts: Pick<Service, 'plan' | keyof Parts>): CompiledWrites =>
  new Map(
    Array.from(parts.plan.collections.values(), (collection) => {
      const compile = (operation: WriteOperation) => toMoments(compileWrite(parts, collection, operation))
      return [
        collection.name,
        { create: compile('create'), patch: compile('patch'), put: compile('put') },
      ] as const
    }),
  )
