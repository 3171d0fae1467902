import { stepsToRead } from '../../json/domain.js'
import { isObject, readOwn } from '../../json/own-properties.js'
import { runAtOnce, type Slice, type Sliced } from '../../slices.js'
import type { JsonObject } from '../../types.js'
import type { Field } from '../field-type.js'

/**
 * Converts a value to its stored form: applies `trim` and `lowercase`, and writes timestamps in UTC, −0 as 0,
 * and `null` of a nullable field as `undefined`. A value of another type stays as it is, because the
 * validator rejects it. CONTRACT.md §1.
 */
export const normalise = (field: Field, value: unknown): unknown =>
  runAtOnce((slice) => normaliseInSlices(field, value, slice))

/**
 * Normalises an object: first the declared properties in the schema's order, then the other properties in
 * their own order. Properties that became `undefined` are omitted.
 */
export const normaliseProperties = (fields: readonly Field[], value: JsonObject): JsonObject =>
  runAtOnce((slice) => normalisePropertiesInSlices(fields, value, slice))

function* normaliseInSlices(field: Field, value: unknown, slice: Slice): Sliced<unknown> {
  const { items, properties } = field
  if (properties.length > 0 && isObject(value))
    return Object.freeze(yield* normalisePropertiesInSlices(properties, value, slice))
  if (!items || !Array.isArray(value)) return field.normalise(value)
  const normalised: unknown[] = []
  for (const element of value) {
    slice.left -= stepsToRead(element)
    if (slice.left <= 0) yield
    normalised.push(
      isPlain(items, element) ? items.normalise(element) : yield* normaliseInSlices(items, element, slice),
    )
  }
  return Object.freeze(normalised)
}

/** Does the same as `normaliseProperties`, in slices. */
export function* normalisePropertiesInSlices(
  fields: readonly Field[],
  value: JsonObject,
  slice: Slice,
): Sliced<JsonObject> {
  const { length } = Object.keys(value)
  slice.left -= COPY * length + fields.length / LOOK
  if (slice.left <= 0) yield
  // Names of fields are validated and never `__proto__`, so an assignment defines an own property.
  const normalised: { [name: string]: unknown } = {}
  let declared = 0
  for (const field of fields) {
    if (!Object.hasOwn(value, field.name)) continue
    declared += 1
    const given = value[field.name]
    const own = isPlain(field, given) ? field.normalise(given) : yield* normaliseInSlices(field, given, slice)
    if (own !== undefined) normalised[field.name] = own
  }
  return declared === length ? normalised : addOthers(fields, normalised, value)
}

/** Does the same as `normaliseProperties`; returns `undefined` if that uses up the slice. */
export function normaliseAtOnce(
  fields: readonly Field[],
  value: JsonObject,
  slice: Slice,
): JsonObject | undefined {
  const { done, value: normalised } = normalisePropertiesInSlices(fields, value, slice).next()
  return done ? normalised : undefined
}

/** The number of steps that it takes to copy a property (about 200 ns). */
const COPY = 4

/** The number of properties that can be looked up in one step. */
const LOOK = 4

/** Whether a value has no elements or properties with their own definitions. */
const isPlain = ({ items, properties }: Field, value: unknown): boolean =>
  typeof value !== 'object' || value === null || (!items && properties.length === 0)

/** Adds the undeclared properties of `others`. */
function addOthers(
  fields: readonly Field[],
  values: { [name: string]: unknown },
  others: JsonObject,
): { [name: string]: unknown } {
  const declared = new Set(fields.map(({ name }) => name))
  const rest = Object.entries(others).filter(([name]) => !declared.has(name))
  if (rest.length === 0) return values
  // `fromEntries` defines own properties of any name; an assignment to `__proto__` would not.
  return Object.fromEntries([...Object.entries(values), ...rest])
}

/** Normalises the value of a merge patch. A `null` in the patch stays, because it removes a property. */
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
 * Adds the defaults of missing properties, also inside existing objects and arrays of objects. `now` is a
 * timestamp in stored form.
 */
export const applyDefaults = (fields: readonly Field[], value: JsonObject, now: string): JsonObject =>
  runAtOnce((slice) => applyDefaultsInSlices(fields, value, now, slice))

/** Whether a value certainly needs no defaults. Also false if the check uses up the slice. */
export function isComplete(fields: readonly Field[], value: JsonObject, now: string, slice: Slice): boolean {
  slice.left -= (2 * fields.length) / LOOK
  const needsNone = (field: Field): boolean =>
    Object.hasOwn(value, field.name) ? !field.fillsInside : defaultOf(field, now) === undefined
  return slice.left > 0 && fields.every(needsNone)
}

/** Does the same as `applyDefaults`, in slices. */
export function* applyDefaultsInSlices(
  fields: readonly Field[],
  value: JsonObject,
  now: string,
  slice: Slice,
): Sliced<JsonObject> {
  if (isComplete(fields, value, now, slice)) return value
  slice.left -= COPY * Object.keys(value).length
  if (slice.left <= 0) yield
  const filled: { [name: string]: unknown } = {}
  for (const field of fields) {
    const given = readOwn(value, field.name)
    const present = given === undefined ? defaultOf(field, now) : given
    if (present === undefined) continue
    filled[field.name] = field.fillsInside ? yield* fillInside(field, present, now, slice) : present
  }
  return addOthers(fields, filled, value)
}

function* fillInside(field: Field, value: unknown, now: string, slice: Slice): Sliced<unknown> {
  if (field.properties.length > 0 && isObject(value))
    return yield* applyDefaultsInSlices(field.properties, value, now, slice)
  const { items } = field
  if (!items?.fillsInside || !Array.isArray(value)) return value
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
  // `now` is already in stored form.
  return written === undefined || written === now ? written : normalise(field, written)
}
