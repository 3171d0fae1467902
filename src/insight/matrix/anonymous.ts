import { findClaimFields } from '../../config/claims/claim-fields.js'
import type { ServicePlan } from '../../config/plan.js'
import { type ComparableType, isNothing, type Scalar } from '../../filter/filter.js'
import type { Rule } from '../../permissions/grants.js'
import { bindSet } from '../../permissions/write-rules.js'
import type { Binding } from '../../query/variable.js'
import { bindWhere } from '../../query/where.js'
import type { Config } from '../../types.js'

/** A sample value of each type, for claims whose values are unknown. */
const SAMPLES: { readonly [type in ComparableType]: Scalar } = {
  string: '',
  timestamp: '2026-01-01T00:00:00.000Z',
  number: 0,
  integer: 0,
  boolean: true,
}

/** The variables of an anonymous caller: no `$user`, and only claims that do not depend on it. */
export function bindAnonymous(config: Partial<Config>, { claims }: ServicePlan): Binding {
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
 * Whether a rule could run for an anonymous caller, with any documents. An operation has only one such rule, so a rule
 * that cannot run hides no other.
 */
export const canRun = (rule: Rule, binding: Binding): boolean =>
  [rule.where, rule.check].every((where) => !isNothing(bindWhere(where, binding))) &&
  bindSet(rule, { caller: null, binding }) !== undefined
