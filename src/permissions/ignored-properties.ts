import { isFieldName, isSystemField } from '../schema/names.js'
import type { JsonObject } from '../types.js'

/** How many names an answer tells. */
const MAX_NAMES = 20

/**
 * The properties of a body that were not kept, as far as an answer names them (CONTRACT.md §7): what a field could be
 * called, and system fields. It depends on nothing but the body and the rule that ran.
 */
export const listIgnored = (body: JsonObject, kept: JsonObject): readonly string[] =>
  firstNames(
    Object.keys(body).filter(
      (name) => !Object.hasOwn(kept, name) && (isFieldName(name) || isSystemField(name)),
    ),
  )

/** The first names in their order, each once. A body may hold more than are worth sorting. */
export function firstNames(names: Iterable<string>): readonly string[] {
  const first: string[] = []
  for (const name of names) {
    const place = first.findIndex((other) => other >= name)
    if (place < 0) first.push(name)
    else if (first[place] !== name) first.splice(place, 0, name)
    if (first.length > MAX_NAMES) first.pop()
  }
  return first
}
