import type { Rule } from '../../../../core/permissions/grants.js'
import { ALWAYS, type Diagram, NEVER } from '../solver/logic.js'
import { type Stored, tryRule, type Write } from './try-rule.js'

/**
 * The possible outcomes of a write, each with its condition. Exactly one outcome occurs. A `400` comes with the
 * conditions of its validation errors.
 */
export interface WriteDecision {
  /** The condition of each rejection and of each validation error. */
  readonly refusals: ReadonlyMap<string, Diagram>
  readonly granted: readonly (readonly [when: Diagram, stored: Stored])[]
}

/**
 * Chooses the rule that runs, as the service does: rules that drop nothing of the body are tried first. Decides only
 * the writes that the region selects.
 */
export function chooseRule(write: Write, rules: readonly Rule[], region: Diagram): WriteDecision {
  const { and, or, not } = write.sight.logic
  const refusals = new Map<string, Diagram>()
  const refuse = (why: string, when: Diagram): void =>
    void refusals.set(why, or(refusals.get(why) ?? NEVER, when))
  const granted: (readonly [Diagram, Stored])[] = []
  const tried = rules.flatMap((rule) => {
    const applies = write.mode === 'create' ? ALWAYS : write.sight.appliesTo(rule)
    return and(region, applies) === NEVER ? [] : [{ trial: tryRule(write, rule), applies }]
  })
  let open = region
  let isFirst = region
  let isDenied = region
  let isRefused: Diagram = NEVER
  for (const isWholesTurn of [true, false]) {
    for (const { trial, applies } of tried) {
      // If a rule that drops nothing was refused, a rule that keeps nothing is not tried.
      const turn = isWholesTurn
        ? and(open, applies, trial.isWhole)
        : and(open, applies, not(trial.isWhole), not(and(isRefused, trial.isIdle)))
      if (turn === NEVER) continue
      const runs = and(turn, trial.runs)
      if (runs !== NEVER) granted.push([runs, trial.stored])
      const isFaulty = and(turn, isFirst, or(...trial.faults.values()))
      refuse('400', isFaulty)
      for (const [fault, when] of trial.faults) refuse(fault, and(isFaulty, when))
      open = and(open, not(runs), not(isFaulty))
      if (isWholesTurn) isRefused = or(isRefused, and(turn, not(runs), not(or(...trial.faults.values()))))
      isFirst = and(isFirst, not(turn))
      isDenied = and(isDenied, not(turn))
    }
  }
  refuse(write.isSignedIn ? '403' : '401', and(open, isDenied))
  refuse('403', and(open, not(isDenied)))
  return { refusals, granted }
}
