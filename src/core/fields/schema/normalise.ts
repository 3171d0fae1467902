import { stepsToRead } from '../../json/domain.js'
import { isObject, readOwn } from '../../json/own-properties.js'
import { isPromise, whenReady } from '../../promises.js'
import { forEachSliced, inOneSlice, mapSliced, type Sliced } from '../../slices.js'
import type { JsonObject } from '../../types.js'
import type { Field } from '../field-type.js'

/**
 * Converts a value to its stored form: applies `trim` and `lowercase`, and writes timestamps in UTC, −0 as 0,
 * and `null` of a nullable field as `undefined`. A value of another type stays as it is, because the
 * validator rejects it. CONTRACT.md §1.
 */
export const normalise = (field: Field, value: unknown): unknown =>
  isPlain(field, value)
    ? field.normalise(value)
    : inOneSlice((slices) => normaliseValue(field, value, slices))

/**
 * Normalises an object: first the declared properties in the schema's order, then the other properties in
 * their own order. Properties that became `undefined` are omitted.
 */
export const normaliseProperties = (fields: readonly Field[], value: JsonObject): JsonObject =>
  inOneSlice((slices) => normaliseSliced(fields, value, slices))

const normaliseValue: Sliced<[field: Field, value: unknown], unknown> = (field, value, slices) => {
  const { items, properties } = field
  if (properties.length > 0 && isObject(value))
    return whenReady(normaliseSliced(properties, value, slices), Object.freeze)
  if (!items || !Array.isArray(value)) return field.normalise(value)
  const normalising = mapSliced(slices, value, (element) => {
    slices.left -= stepsToRead(element)
    return isPlain(items, element) ? items.normalise(element) : normaliseValue(items, element, slices)
  })
  return whenReady(normalising, Object.freeze)
}

/** Does the same as `normaliseProperties`, in slices. */
export const normaliseSliced: Sliced<[fields: readonly Field[], value: JsonObject], JsonObject> = (
  fields,
  value,
  slices,
) => {
  const { length } = Object.keys(value)
  slices.left -= COPY * length + fields.length / LOOK
  // Names of fields are validated and never `__proto__`, so an assignment defines an own property.
  const normalised: { [name: string]: unknown } = {}
  let declared = 0
  const keep = (name: string, own: unknown): void => {
    if (own !== undefined) normalised[name] = own
  }
  const normalising = forEachSliced(slices, fields, (field) => {
    const { name } = field
    if (!Object.hasOwn(value, name)) return undefined
    declared += 1
    const given = value[name]
    const own = isPlain(field, given) ? field.normalise(given) : normaliseValue(field, given, slices)
    if (isPromise(own)) return own.then((later) => void keep(name, later))
    keep(name, own)
    return undefined
  })
  return whenReady(normalising, () =>
    declared === length ? normalised : addOthers(fields, normalised, value),
  )
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
  inOneSlice((slices) => applyDefaultsSliced(fields, value, now, slices))

/** Whether a value certainly needs no defaults. */
function isComplete(fields: readonly Field[], value: JsonObject, now: string): boolean {
  const needsNone = (field: Field): boolean =>
    Object.hasOwn(value, field.name) ? !field.fillsInside : defaultOf(field, now) === undefined
  return fields.every(needsNone)
}

/** Does the same as `applyDefaults`, in slices. */
export const applyDefaultsSliced: Sliced<
  [fields: readonly Field[], value: JsonObject, now: string],
  JsonObject
> = (fields, value, now, slices) => {
  slices.left -= (2 * fields.length) / LOOK
  if (isComplete(fields, value, now)) return value
  slices.left -= COPY * Object.keys(value).length
  const filled: { [name: string]: unknown } = {}
  const filling = forEachSliced(slices, fields, (field) => {
    const given = readOwn(value, field.name)
    const present = given === undefined ? defaultOf(field, now) : given
    if (present === undefined) return undefined
    filled[field.name] = present
    if (!field.fillsInside) return undefined
    return whenReady(fillInside(field, present, now, slices), (inner) => {
      filled[field.name] = inner
    })
  })
  return whenReady(filling, () => addOthers(fields, filled, value))
}

const fillInside: Sliced<[field: Field, value: unknown, now: string], unknown> = (
  field,
  value,
  now,
  slices,
) => {
  if (field.properties.length > 0 && isObject(value))
    return applyDefaultsSliced(field.properties, value, now, slices)
  const { items } = field
  if (!items?.fillsInside || !Array.isArray(value)) return value
  return mapSliced(slices, value, (element) => {
    slices.left -= 3
    return fillInside(items, element, now, slices)
  })
}

function defaultOf(field: Field, now: string): unknown {
  const written = field.defaultAt(now)
  // `now` is already in stored form.
  return written === undefined || written === now ? written : normalise(field, written)
}
