import type { Rule } from '../../../permissions/grants.js'
import { ALWAYS, type Diagram, NEVER } from '../solver/diagrams.js'
import { applyCreate } from './apply-create.js'
import { applyUpdate } from './apply-update.js'
import { accepts, type Stored, type Trial, type Write, type WriteDecision } from './writing.js'

/** Tries one rule by itself: once for all callers who see the same of its inputs. */
export function tryRule(write: Write, rule: Rule): Trial {
  const { mode, trials, namesShown, shows } = write
  const known = trials.get(rule) ?? new Map<string, Trial>()
  trials.set(rule, known)
  const seen = namesShown.map(shows).join()
  const trial = known.get(seen) ?? {
    isWhole: dropsNothing(write, rule),
    applied: mode === 'create' ? applyCreate(write, rule) : applyUpdate(write, rule),
  }
  known.set(seen, trial)
  return trial
}

/**
 * Chooses the rule that runs, as the service does: those that drop nothing come first. Writes outside the region stay
 * undecided.
 */
export function chooseRule(write: Write, rules: readonly Rule[], region: Diagram): WriteDecision {
  const { and, or, not } = write.sight.logic
  const refusals = new Map<string, Diagram>()
  const refuse = (why: string, when: Diagram): void =>
    void refusals.set(why, or(refusals.get(why) ?? NEVER, when))
  const granted: (readonly [Diagram, Stored])[] = []
  const tried = rules.flatMap((rule) => {
    const applies = write.mode === 'create' ? ALWAYS : write.sight.appliesTo(rule)
    return and(region, applies) === NEVER ? [] : [{ ...tryRule(write, rule), applies }]
  })
  let open = region
  let isFirst = region
  let isDenied = region
  for (const isWholesTurn of [true, false]) {
    for (const { isWhole, applies, applied } of tried) {
      const turn = and(open, applies, isWholesTurn ? isWhole : not(isWhole))
      if (turn === NEVER) continue
      const runs = and(turn, applied.runs)
      if (runs !== NEVER) granted.push([runs, applied.stored])
      const isFaulty = and(turn, isFirst, or(...applied.faults.values()))
      refuse('400', isFaulty)
      for (const [fault, when] of applied.faults) refuse(fault, and(isFaulty, when))
      open = and(open, not(runs), not(isFaulty))
      isFirst = and(isFirst, not(turn))
      isDenied = and(isDenied, not(turn))
    }
  }
  refuse(write.isSignedIn ? '403' : '401', and(open, isDenied))
  refuse('403', and(open, not(isDenied)))
  return { refusals, granted }
}

const dropsNothing = (write: Write, rule: Rule): Diagram => {
  const { logic, collection } = write.sight
  const dropped = write.names.filter(
    (name) => !accepts(write, rule, name) && !rule.set.has(name) && name !== collection.verifiedField,
  )
  return logic.not(logic.or(...dropped.map(write.body.names)))
}
