import { isAnywhere } from '../../../query/where.js'
import type { Stage } from '../draft.js'

/** Evaluates `check` of the rule on the document as it would be stored, before a hook changes it. */
export const check: Stage = {
  name: 'check',
  judge: ({ call, rule, fields, system }) =>
    isAnywhere(rule.check) || call.judge.admits(rule, { ...fields, ...system })
      ? undefined
      : { kind: 'refused' },
}
