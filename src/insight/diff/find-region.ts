import type { Rule } from '../../permissions/grants.js'
import { holdsImmutable } from '../../schema/changes.js'
import type { Sight } from './model/deciding.js'
import { keyOfEffect, keyOfRule, keyOfWriting } from './model/rule-keys.js'
import type { Sides } from './model/universe.js'
import { ALWAYS, type Diagram, NEVER } from './solver/diagrams.js'
import type { DocumentOperation } from './types.js'
import { tryRule } from './write/decide-write.js'
import type { Trial, Write } from './write/writing.js'

/** One side of a write, and the rules that may decide about it. */
export interface Deciders {
  readonly write: Write
  readonly rules: readonly Rule[]
}

/** The writes that may have another outcome on the other side: those that meet a change. */
export function findRegion(before: Deciders, after: Deciders, namesShown: readonly string[] | null): Diagram {
  const { and, or, not } = before.write.sight.logic
  if ((before.rules.length === 0) !== (after.rules.length === 0)) return ALWAYS
  const later = new Map(after.rules.map((rule) => [rule.subject, rule]))
  const shared = before.rules.filter(({ subject }) => later.has(subject))
  const earlier = new Set(shared.map(({ subject }) => subject))
  const still = after.rules.filter(({ subject }) => earlier.has(subject))
  if (!shared.every(({ subject }, i) => still[i]?.subject === subject)) return ALWAYS
  const ofPairs = shared.map((rule) => {
    const other = later.get(rule.subject)
    if (!other || keyOfRule(rule) === keyOfRule(other)) return NEVER
    return metByChange([before.write, rule], [after.write, other])
  })
  const removed = before.rules.filter(({ subject }) => !later.has(subject))
  const added = after.rules.filter(({ subject }) => !earlier.has(subject))
  const isShownOtherwise = shownOtherwise(before.write.sight, after.write.sight, namesShown)
  const meets = or(
    ...ofPairs,
    ...removed.map((rule) => metByRule(before.write, rule)),
    ...added.map((rule) => metByRule(after.write, rule)),
    isShownOtherwise,
  )
  if (meets === NEVER || isShownOtherwise !== NEVER) return meets
  return and(meets, not(or(...settledFirst(before, after))))
}

/** Holds if a rule decides alike on both sides, before a changed rule is tried. */
function settledFirst({ write, rules }: Deciders, after: Deciders): readonly Diagram[] {
  const { and, or } = write.sight.logic
  const changed = rules.findIndex((rule, i) => rule !== after.rules[i])
  return rules.slice(0, Math.max(changed, 0)).map((rule, i) => {
    const { isWhole, applied } = tryRule(write, rule)
    const decides = i === 0 ? or(applied.runs, ...applied.faults.values()) : applied.runs
    return and(metByRule(write, rule), isWhole, decides)
  })
}

type Ruled = readonly [write: Write, rule: Rule]

/** Holds if a write meets a rule. */
const metByRule = ({ mode, sight }: Write, rule: Rule): Diagram =>
  mode === 'create' ? ALWAYS : sight.appliesTo(rule)

/** Holds if a write meets a rule on one side alone, or on both with different outcomes. */
function metByChange([write, rule]: Ruled, [other, changed]: Ruled): Diagram {
  const { and, or, differ } = write.sight.logic
  const [applies, applied] = [metByRule(write, rule), metByRule(other, changed)]
  const isElsewhere = differ(applies, applied)
  if (keyOfEffect(rule) === keyOfEffect(changed)) return isElsewhere
  const [trial, now] = [tryRule(write, rule), tryRule(other, changed)]
  const isOther =
    keyOfWriting(rule) === keyOfWriting(changed) ? NEVER : or(trial.applied.runs, now.applied.runs)
  return or(isElsewhere, and(applies, or(isOther, ...comesToOther(write, trial, now))))
}

/** Holds if a rule runs, or is tried, or has an error, on one side alone. */
function comesToOther({ sight: { logic } }: Write, was: Trial, is: Trial): readonly Diagram[] {
  const [before, after] = [was.applied, is.applied]
  const faults = [...new Set([...before.faults.keys(), ...after.faults.keys()])]
  return [
    logic.differ(before.runs, after.runs),
    logic.differ(was.isWhole, is.isWhole),
    ...faults.map((fault) =>
      logic.differ(before.faults.get(fault) ?? NEVER, after.faults.get(fault) ?? NEVER),
    ),
  ]
}

/** Holds if one side alone shows the document, or a part of it that a write depends on. */
function shownOtherwise(before: Sight, after: Sight, namesShown: readonly string[] | null): Diagram {
  if (namesShown === null) return NEVER
  const { or, differ } = before.logic
  return or(
    differ(before.isReadable(), after.isReadable()),
    ...namesShown.map((name) => differ(before.shows(name), after.shows(name))),
  )
}

/** The names whose visibility a write depends on; `null` if nothing is stored yet. */
export function namesShownTo(
  operation: DocumentOperation,
  { before, after }: Sides,
  names: readonly string[],
): readonly string[] | null {
  if (operation === 'create') return null
  if (operation === 'delete') return []
  const fields = [...before.fields, ...after.fields]
  if (operation === 'put') return [...new Set([...fields.map(({ name }) => name), ...names])]
  const judged = fields.filter((field) => field.definition.required === true || holdsImmutable(field))
  return [...new Set(judged.map(({ name }) => name))]
}
