import type { NameClass } from './model/classes.js'
import type { Diagram } from './solver/diagrams.js'
import type { DifferenceKind } from './types.js'

/** A difference: what it is about is the whole answer, or one class of names. */
export interface FoundDifference {
  readonly kind: DifferenceKind
  readonly about: 'whole' | NameClass
}

/** When a request shows a difference. */
export type ShownDifference = readonly [found: FoundDifference, when: Diagram]
