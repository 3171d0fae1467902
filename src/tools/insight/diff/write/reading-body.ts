import { topOf } from '../model/classes.js'
import { bodyKey } from '../model/sources.js'
import { type Diagram, type Logic, NEVER } from '../solver/logic.js'
import { isOpaque } from '../solver/variable.js'

/** Reads the properties of a body. */
export interface BodyReader {
  /** Returns the condition under which the body contains a property. */
  names(name: string): Diagram
  /** Returns the condition under which a property of the body is `null`. */
  isNull(name: string): Diagram
}

/** Creates the reader of a body that contains only known names. The condition for each name is cached. */
export function createBodyReader(logic: Logic, known: ReadonlySet<string>): BodyReader {
  const named = new Map<string, Diagram>()
  return {
    names(name) {
      if (!known.has(topOf(name))) return NEVER
      const found = named.get(name) ?? logic.test(bodyKey(name), (value) => value !== undefined)
      named.set(name, found)
      return found
    },
    isNull: (name) => logic.test(bodyKey(name), (value) => isOpaque(value) && value.sample === null),
  }
}
