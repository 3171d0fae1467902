import { topOf } from '../model/classes.js'
import { bodyKey } from '../model/sources.js'
import { type Diagram, type Logic, NEVER } from '../solver/logic.js'
import { isOpaque } from '../solver/variable.js'

/** The properties of a body. */
export interface BodyReader {
  /** Holds if it has a property. */
  names(name: string): Diagram
  /** Holds if a property is `null`. */
  isNull(name: string): Diagram
}

/** Reads a body that has no names but these; its properties are found once. */
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
