import type { JsonSchema } from '../json/json-schema.js'
import type { ConfigReport } from '../json/report.js'

/** The pattern of field names (CONTRACT.md §1). */
export const FIELD_NAME = '^[a-zA-Z][a-zA-Z0-9_]{0,62}$'

/** Names that match `FIELD_NAME` but are reserved. */
export const RESERVED_FIELD_NAMES: readonly string[] = [
  'createdAt',
  'updatedAt',
  'createdBy',
  'constructor',
  'prototype',
]

/** The JSON Schema of field names. */
export const FIELD_NAMES: JsonSchema = { pattern: FIELD_NAME, not: { enum: RESERVED_FIELD_NAMES } }

/**
 * Reports each name that differs only in letter case from a reserved name or an earlier name (CONTRACT.md
 * §1).
 */
export function checkCase(names: readonly string[], reserved: readonly string[], report: ConfigReport): void {
  for (const [name, message] of findTwins(names, reserved)) report.at(name).fault(message)
}

/** Returns the error for each name that differs only in letter case from a reserved name or an earlier name. */
export function findTwins(
  names: readonly string[],
  reserved: readonly string[],
): ReadonlyMap<string, string> {
  const byFold = new Map(reserved.map((name) => [name.toLowerCase(), name]))
  const faults = new Map<string, string>()
  for (const name of names) {
    const first = byFold.get(name.toLowerCase()) ?? name
    byFold.set(name.toLowerCase(), first)
    if (first !== name) faults.set(name, `differs from ${JSON.stringify(first)} only in letter case`)
  }
  return faults
}
