import type { JsonSchema } from '../json/json-schema.js'
import { isObject, pickWhere } from '../json/own-properties.js'
import type { ConfigReport } from '../json/report.js'
import type { Field } from './field-type.js'

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

/**
 * Reports each stored name that is that of an earlier property too, or that differs from such a name or from a reserved
 * one only in letter case (CONTRACT.md §1, "Stored names").
 */
export function checkStoredNames(
  named: { readonly [name: string]: { readonly stored?: string } },
  reserved: readonly string[],
  report: ConfigReport,
): void {
  const entries = Object.entries(named)
  // Those with their own names come first, so that the fault is that of `stored`.
  const ordered = [
    ...entries.filter(([, { stored }]) => stored === undefined),
    ...entries.filter(([, { stored }]) => stored !== undefined),
  ]
  const seen = new Map(reserved.map((name) => [name.toLowerCase(), { name, stored: name }]))
  for (const [name, { stored = name }] of ordered) {
    const other = seen.get(stored.toLowerCase())
    if (!other) seen.set(stored.toLowerCase(), { name, stored })
    else if (named[name]?.stored !== undefined) {
      const owner = JSON.stringify(other.name)
      const reason =
        other.stored === stored
          ? `is the stored name of ${owner} too`
          : `differs from ${JSON.stringify(other.stored)}, the stored name of ${owner}, only in letter case`
      report
        .at(name)
        .at('stored')
        .fault(`${JSON.stringify(stored)} ${reason}`)
    }
  }
}

/** Returns the name of a field in the storage. */
export const storedNameOf = ({ name, definition }: Pick<Field, 'name' | 'definition'>): string =>
  definition.stored ?? name

/** The top-level names that a free property cannot have, because a field is stored under them. */
export const reservedNames = (fields: readonly Field[]): ReadonlySet<string> =>
  new Set(fields.filter((field) => storedNameOf(field) !== field.name).map(storedNameOf))

/**
 * The prefix of stored properties that the schema does not declare although a field has their name (CONTRACT.md §1,
 * "Stored names"). They survive every write. At the top level, properties whose names begin with `_` are shown to nobody.
 */
export const HIDDEN = '_:'

/** Whether values of a field may contain hidden properties: if a property inside it is stored under another name. */
const mayHide = ({ items, properties }: Field): boolean =>
  items ? mayHide(items) : properties.some((one) => storedNameOf(one) !== one.name || mayHide(one))

/** Returns the value of a field without hidden properties inside its objects. Copies it only if it may have any. */
export function withoutHidden(field: Field, value: unknown): unknown {
  const { items, properties } = field
  if (!mayHide(field)) return value
  if (items) return Array.isArray(value) ? value.map((element) => withoutHidden(items, element)) : value
  if (properties.length === 0 || !isObject(value)) return value
  const shown = pickWhere(value, (name) => !name.startsWith(HIDDEN))
  const entries = properties.flatMap((one) =>
    Object.hasOwn(shown, one.name) ? [[one.name, withoutHidden(one, shown[one.name])] as const] : [],
  )
  return { ...shown, ...Object.fromEntries(entries) }
}

/**
 * The key of the hashes in a stored document. It is separate from the fields and no field can have this name, so hashes
 * are never shown, compared or copied under any later configuration (CONTRACT.md §1).
 */
export const HASHES = '_hashes'
