import type { NameClass } from './model/classes.js'
import type { Diagram } from './solver/diagrams.js'
import type { Kind } from './types.js'

/** A difference: what it is about is the whole answer, or one class of names. */
export interface Found {
  readonly kind: Kind
  readonly about: 'whole' | NameClass
}

/** When a request shows a difference. */
export type Shown = readonly [found: Found, when: Diagram]
