import { isObject } from '../filter/read-path.js'
import type { JsonObject } from '../types.js'
import type { Field } from './field.js'
import { parseTimestamp } from './timestamp.js'

/**
 * Brings a value into the form in which it is stored: `trim`, `lowercase`, timestamps in UTC, −0 as 0, a `null` of a
 * nullable field as `undefined`. What does not fit the type is left for validation. Contract §1.
 */
export function normalise(field: Field, value: unknown): unknown {
  const { definition } = field
  if (value === null) return definition.nullable ? undefined : null
  switch (definition.type) {
    case 'string': {
      if (typeof value !== 'string') return value
      const trimmed = definition.trim ? value.trim() : value
      return definition.lowercase ? trimmed.toLowerCase() : trimmed
    }
    case 'timestamp':
      return typeof value === 'string' ? (parseTimestamp(value) ?? value) : value
    case 'number':
    case 'integer':
      return Object.is(value, -0) ? 0 : value
    case 'array': {
      const { items } = field
      return Array.isArray(value) && items ? value.map((element) => normalise(items, element)) : value
    }
    case 'object':
      return isObject(value) ? normaliseProperties(field.properties, value) : value
    default:
      return value
  }
}

/** The declared properties in the schema's order, then the others in theirs; what became `undefined` is left out. */
export function normaliseProperties(fields: readonly Field[], value: JsonObject): JsonObject {
  const entries: [string, unknown][] = []
  const rest = new Map(Object.entries(value))
  for (const field of fields) {
    if (!rest.has(field.name)) continue
    const normalised = normalise(field, rest.get(field.name))
    rest.delete(field.name)
    if (normalised !== undefined) entries.push([field.name, normalised])
  }
  // Not by assignment: `fromEntries` defines own properties, whatever they are called.
  return Object.fromEntries(rest.size === 0 ? entries : [...entries, ...rest])
}

/** Normalises what a merge patch brings in; a `null` in it stays one, because it removes. */
export function normalisePatch(field: Field, patch: unknown): unknown {
  if (patch === null || field.type !== 'object' || !isObject(patch))
    return patch === null ? null : normalise(field, patch)
  const byName = new Map(field.properties.map((property) => [property.name, property]))
  return Object.fromEntries(
    Object.entries(patch).map(([name, value]) => {
      const property = byName.get(name)
      return [name, property ? normalisePatch(property, value) : value]
    }),
  )
}

/** Puts defaults where a property is missing, inside objects and arrays of objects that are there too. `now` is a stored timestamp. */
export function applyDefaults(fields: readonly Field[], value: JsonObject, now: string): JsonObject {
  const entries: [string, unknown][] = []
  const rest = new Map(Object.entries(value))
  for (const field of fields) {
    const present = rest.get(field.name)
    rest.delete(field.name)
    const filled = present === undefined ? defaultOf(field, now) : present
    if (filled === undefined) continue
    entries.push([field.name, fillInside(field, filled, now)])
  }
  return Object.fromEntries(rest.size === 0 ? entries : [...entries, ...rest])
}

function fillInside(field: Field, value: unknown, now: string): unknown {
  if (field.properties.length > 0 && isObject(value)) return applyDefaults(field.properties, value, now)
  const { items } = field
  if (items && items.type === 'object' && Array.isArray(value)) {
    return value.map((element) => fillInside(items, element, now))
  }
  return value
}

function defaultOf(field: Field, now: string): unknown {
  const { definition } = field
  if (definition.type === 'hash' || definition.default === undefined) return undefined
  if (definition.type === 'timestamp' && definition.default === '$now') return now
  return normalise(field, definition.default)
}
