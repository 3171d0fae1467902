import type { Diagram } from '../solver/logic.js'

/** Reads the properties of a body. */
export interface BodyReader {
  /** Returns the condition under which the body contains a property. */
  names(name: string): Diagram
  /** Returns the condition under which a property of the body is `null`. */
  isNull(name: string): Diagram
}
