import { isFieldName, isSystemField } from '../schema/names.js'
import type { JsonObject } from '../types.js'

/** The most names that an answer lists. */
const MAX_NAMES = 20

/**
 * The dropped properties of a body that an answer names (CONTRACT.md §7): valid field names and system
 * fields. The list depends only on the body and the rule that ran.
 */
export const listIgnored = (body: JsonObject, kept: JsonObject): readonly string[] =>
  body === kept
    ? NONE
    : firstNames(
        Object.keys(body).filter(
          (name) => !Object.hasOwn(kept, name) && (isFieldName(name) || isSystemField(name)),
        ),
      )

const NONE: readonly string[] = []

/** The first names, sorted, each once. A body may hold too many to sort them all. */
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
