import type { JsonSchema } from '../json/json-schema.js'

/** CONTRACT.md §1: names of fields. */
export const FIELD_NAME = '^[a-zA-Z][a-zA-Z0-9_]{0,62}$'

/** Names that match `FIELD_NAME` and are no field's all the same. */
export const RESERVED_FIELD_NAMES: readonly string[] = [
  'createdAt',
  'updatedAt',
  'createdBy',
  'constructor',
  'prototype',
]

/** What the name of a field must be. */
export const FIELD_NAMES: JsonSchema = { pattern: FIELD_NAME, not: { enum: RESERVED_FIELD_NAMES } }

/** The names that differ from one before them, or from a reserved one, by case alone (CONTRACT.md §1), and how. */
export function findCaseClashes(
  names: readonly string[],
  reserved: readonly string[],
): readonly (readonly [name: string, message: string])[] {
  const byFold = new Map(reserved.map((name) => [name.toLowerCase(), name]))
  return names.flatMap((name) => {
    const first = byFold.get(name.toLowerCase()) ?? name
    byFold.set(name.toLowerCase(), first)
    return first === name ? [] : [[name, `differs from ${JSON.stringify(first)} by case alone`] as const]
  })
}
