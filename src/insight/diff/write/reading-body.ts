import { bodyKey } from '../model/sources.js'
import { type Diagram, NEVER } from '../solver/diagrams.js'
import type { Logic } from '../solver/logic.js'
import { isOpaque } from '../solver/variable.js'

/** What a body names. */
export interface BodyReader {
  /** That it has a property. */
  names(name: string): Diagram
  /** That a property is `null`. */
  isNull(name: string): Diagram
}

/** Reads a body that has no other names than these. */
export const createBodyReader = (logic: Logic, known: ReadonlySet<string>): BodyReader => ({
  names: (name) =>
    known.has(name.split('.')[0] ?? name) ? logic.test(bodyKey(name), (value) => value !== undefined) : NEVER,
  isNull: (name) => logic.test(bodyKey(name), (value) => isOpaque(value) && value.sample === null),
})
