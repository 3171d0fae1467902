import { bindSet } from '../../../permissions/write-rules.js'
import type { Stage } from '../draft.js'

/** Adds the values of `set` of the rule. A rule whose variable has no value for the caller does not accept the body. */
export const set: Stage = {
  name: 'set',
  judge(draft) {
    const values = bindSet(draft.rule, draft.call)
    if (!values) return { kind: 'refused' }
    if (draft.rule.set.size > 0) draft.given = { ...draft.given, ...values }
    return undefined
  },
}
