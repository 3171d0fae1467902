import type { NameClass } from './model/classes.js'
import type { Diagram } from './solver/logic.js'
import type { DifferenceKind } from './types.js'

/** A difference of the whole response, or of one class of names. */
export interface FoundDifference {
  readonly kind: DifferenceKind
  readonly about: 'whole' | NameClass
}

/** A difference, and the condition under which a request shows it. */
export type ShownDifference = readonly [found: FoundDifference, when: Diagram]
