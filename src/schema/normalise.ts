import { stepsToRead } from '../json/domain.js'
import { isObject } from '../json/own-properties.js'
import { runAtOnce, type Slice, type Sliced } from '../slices.js'
import type { JsonObject } from '../types.js'
import type { Field } from './field.js'
import { parseTimestamp } from './timestamp.js'

/**
 * Brings a value into the form in which it is stored: `trim`, `lowercase`, timestamps in UTC, −0 as 0, a `null` of a
 * nullable field as `undefined`. What does not fit the type is left for validation. CONTRACT.md §1.
 */
export const normalise = (field: Field, value: unknown): unknown =>
  runAtOnce((slice) => normaliseInSlices(field, value, slice))

/** The declared properties in the schema's order, then the others in theirs; what became `undefined` is left out. */
export const normaliseProperties = (fields: readonly Field[], value: JsonObject): JsonObject =>
  runAtOnce((slice) => normalisePropertiesInSlices(fields, value, slice))

function* normaliseInSlices(field: Field, value: unknown, slice: Slice): Sliced<unknown> {
  const { items, properties, type } = field
  if (type === 'object' && isObject(value))
    return yield* normalisePropertiesInSlices(properties, value, slice)
  if (type !== 'array' || !items || !Array.isArray(value)) return normaliseScalar(field, value)
  const isSimple = items.type !== 'array' && items.type !== 'object'
  const normalised: unknown[] = []
  for (const element of value) {
    slice.left -= stepsToRead(element)
    if (slice.left <= 0) yield
    normalised.push(
      isSimple ? normaliseScalar(items, element) : yield* normaliseInSlices(items, element, slice),
    )
  }
  return normalised
}

/** The same as `normaliseProperties`, in slices. */
export function* normalisePropertiesInSlices(
  fields: readonly Field[],
  value: JsonObject,
  slice: Slice,
): Sliced<JsonObject> {
  if (!fields.some(({ name }) => Object.hasOwn(value, name))) return value
  const entries: [string, unknown][] = []
  const rest = new Map(Object.entries(value))
  yield* pauseAfter(rest.size, slice)
  for (const field of fields) {
    if (!rest.has(field.name)) continue
    const normalised = yield* normaliseInSlices(field, rest.get(field.name), slice)
    rest.delete(field.name)
    if (normalised !== undefined) entries.push([field.name, normalised])
  }
  // Not by assignment: `fromEntries` defines own properties, whatever they are called.
  return Object.fromEntries(rest.size === 0 ? entries : [...entries, ...rest])
}

/** Copying a property costs some 200 ns. */
function* pauseAfter(properties: number, slice: Slice): Sliced<void> {
  slice.left -= 4 * properties
  if (slice.left <= 0) yield
}

function normaliseScalar({ definition }: Field, value: unknown): unknown {
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
    default:
      return value
  }
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
export const applyDefaults = (fields: readonly Field[], value: JsonObject, now: string): JsonObject =>
  runAtOnce((slice) => applyDefaultsInSlices(fields, value, now, slice))

/** The same in slices. */
export function* applyDefaultsInSlices(
  fields: readonly Field[],
  value: JsonObject,
  now: string,
  slice: Slice,
): Sliced<JsonObject> {
  const isComplete = (field: Field): boolean =>
    !Object.hasOwn(value, field.name) && defaultOf(field, now) === undefined
  if (fields.every(isComplete)) return value
  const entries: [string, unknown][] = []
  const rest = new Map(Object.entries(value))
  yield* pauseAfter(rest.size, slice)
  for (const field of fields) {
    const present = rest.get(field.name)
    rest.delete(field.name)
    const filled = present === undefined ? defaultOf(field, now) : present
    if (filled === undefined) continue
    entries.push([field.name, yield* fillInside(field, filled, now, slice)])
  }
  return Object.fromEntries(rest.size === 0 ? entries : [...entries, ...rest])
}

function* fillInside(field: Field, value: unknown, now: string, slice: Slice): Sliced<unknown> {
  if (field.properties.length > 0 && isObject(value))
    return yield* applyDefaultsInSlices(field.properties, value, now, slice)
  const { items } = field
  if (items?.type !== 'object' || !Array.isArray(value)) return value
  const filled: unknown[] = []
  for (const element of value) {
    slice.left -= 3
    if (slice.left <= 0) yield
    filled.push(yield* fillInside(items, element, now, slice))
  }
  return filled
}

function defaultOf(field: Field, now: string): unknown {
  const { definition } = field
  if (definition.type === 'hash' || definition.default === undefined) return undefined
  if (definition.type === 'timestamp' && definition.default === '$now') return now
  return normalise(field, definition.default)
}
