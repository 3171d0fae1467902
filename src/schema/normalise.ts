import type { Field } from '../fields/field-type.js'
import { stepsToRead } from '../json/domain.js'
import { isObject } from '../json/own-properties.js'
import { runAtOnce, type Slice, type Sliced } from '../slices.js'
import type { JsonObject } from '../types.js'

/**
 * Brings a value into its stored form: `trim`, `lowercase`, timestamps in UTC, −0 as 0, `null` of a nullable
 * field as `undefined`. A value of another type stays as it is: the validator refuses it. CONTRACT.md §1.
 */
export const normalise = (field: Field, value: unknown): unknown =>
  runAtOnce((slice) => normaliseInSlices(field, value, slice))

/**
 * Normalises an object: declared properties in the schema's order, then the others in theirs, without those
 * that became `undefined`.
 */
export const normaliseProperties = (fields: readonly Field[], value: JsonObject): JsonObject =>
  runAtOnce((slice) => normalisePropertiesInSlices(fields, value, slice))

function* normaliseInSlices(field: Field, value: unknown, slice: Slice): Sliced<unknown> {
  const { items, properties } = field
  if (properties.length > 0 && isObject(value))
    return yield* normalisePropertiesInSlices(properties, value, slice)
  if (!items || !Array.isArray(value)) return field.normalise(value)
  const isSimple = !items.items && items.properties.length === 0
  const normalised: unknown[] = []
  for (const element of value) {
    slice.left -= stepsToRead(element)
    if (slice.left <= 0) yield
    normalised.push(isSimple ? items.normalise(element) : yield* normaliseInSlices(items, element, slice))
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
  // `fromEntries` defines own properties whatever their names are; an assignment to `__proto__` would not.
  return Object.fromEntries(rest.size === 0 ? entries : [...entries, ...rest])
}

/** Copying a property costs some 200 ns. */
function* pauseAfter(properties: number, slice: Slice): Sliced<void> {
  slice.left -= 4 * properties
  if (slice.left <= 0) yield
}

/** Normalises the value of a merge patch; a `null` in it stays, because it removes a property. */
export function normalisePatch(field: Field, patch: unknown): unknown {
  if (patch === null) return null
  if (field.properties.length === 0 || !isObject(patch)) return normalise(field, patch)
  const byName = new Map(field.properties.map((property) => [property.name, property]))
  return Object.fromEntries(
    Object.entries(patch).map(([name, value]) => {
      const property = byName.get(name)
      return [name, property ? normalisePatch(property, value) : value]
    }),
  )
}

/**
 * Puts defaults where a property is missing, also inside objects and arrays of objects that are present.
 * `now` is a stored timestamp.
 */
export const applyDefaults = (fields: readonly Field[], value: JsonObject, now: string): JsonObject =>
  runAtOnce((slice) => applyDefaultsInSlices(fields, value, now, slice))

/** The same as `applyDefaults`, in slices. */
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
  if (!items || items.properties.length === 0 || !Array.isArray(value)) return value
  const filled: unknown[] = []
  for (const element of value) {
    slice.left -= 3
    if (slice.left <= 0) yield
    filled.push(yield* fillInside(items, element, now, slice))
  }
  return filled
}

function defaultOf(field: Field, now: string): unknown {
  const written = field.defaultAt(now)
  // `now` is in stored form already.
  return written === undefined || written === now ? written : normalise(field, written)
}
