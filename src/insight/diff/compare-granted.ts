import type { Rule } from '../../permissions/grants.js'
import type { NameClass } from './model/classes.js'
import { keyOfRule } from './model/rule-keys.js'
import { isSame } from './model/values.js'
import type { ShownDifference } from './shown.js'
import { type Diagram, NEVER } from './solver/diagrams.js'
import type { Logic } from './solver/logic.js'
import type { DifferenceKind } from './types.js'
import type { Stored, WriteDecision } from './write/writing.js'

interface Outcomes {
  readonly was: WriteDecision
  readonly is: WriteDecision
  /** Whether both sides show the document alike. */
  readonly areAlike: boolean
}

/** Compares the stored documents of each pair of rules that can run. */
export function compareGranted(
  classes: readonly NameClass[],
  { was, is, areAlike }: Outcomes,
  logic: Logic,
): readonly ShownDifference[] {
  const both = was.granted.flatMap(([when, stored]) =>
    is.granted.flatMap(([also, other]) => {
      if (stored === other || (areAlike && isSameOne(stored.rule, other.rule))) return []
      const isBoth = logic.and(when, also)
      return isBoth === NEVER ? [] : [{ isBoth, pair: { was: stored, is: other, areAlike } }]
    }),
  )
  return classes.flatMap((names): readonly ShownDifference[] => {
    const found = new Map<DifferenceKind, Diagram>()
    for (const { isBoth, pair } of both)
      for (const [kind, when] of compareStored(names, pair, logic))
        found.set(kind, logic.or(found.get(kind) ?? NEVER, logic.and(isBoth, when)))
    return [...found].map(([kind, when]) => [{ kind, about: names }, when] as const)
  })
}

/** Whether two rules mean the same, or there is none on either side. */
export const isSameOne = (one: Rule | null, other: Rule | null): boolean =>
  one === null || other === null ? one === other : keyOfRule(one) === keyOfRule(other)

interface StoredPair {
  readonly was: Stored
  readonly is: Stored
  readonly areAlike: boolean
}

type Apart = readonly (readonly [DifferenceKind, Diagram])[]

function compareStored([name]: NameClass, { was, is, areAlike }: StoredPair, logic: Logic): Apart {
  const { and, not, same } = logic
  // A name that both accept and would replace alike is the same whether or not the body has it.
  if (areAlike && was.accepts(name) && is.accepts(name) && was.rule && is.rule) return []
  const [isGivenBefore, isGivenAfter] = [was.isGiven(name), is.isGiven(name)]
  const isStoredAlike = isSame(logic, was.sourcesOf(name), is.sourcesOf(name))
  // A name that only one side accepts is settled if both sides store it alike, and both keep or both ignore it.
  const isSettled = and(isStoredAlike, same(was.isKept(name), is.isKept(name)))
  return [
    ['narrowing', and(isGivenBefore, not(isGivenAfter), not(isSettled))],
    ['widening', and(isGivenAfter, not(isGivenBefore), not(isSettled))],
    ['changed', and(same(isGivenBefore, isGivenAfter), not(isStoredAlike))],
  ]
}
