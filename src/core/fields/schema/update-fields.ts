import { isObject, readOwn, setOwn } from '../../json/own-properties.js'
import type { JsonObject } from '../../types.js'
import type { Field } from '../field-type.js'
import { findImmutableChanges, holdsImmutable } from './changes.js'
import { applyDefaults, normalise, normalisePatch } from './normalise.js'

/** An update, described independently of the document that it changes. */
export interface Update {
  /** PATCH merges the named properties into the document; PUT replaces the stored properties with them. */
  readonly mode: 'patch' | 'put'
  /** The properties that the update names, in stored form. A property that is `undefined` is removed. */
  readonly named: JsonObject
  /** The properties that a PUT replaces, whether or not it names them. */
  readonly replaced: ReadonlySet<string>
  /** The time of the update in stored form. */
  readonly now: string
}

/** Converts the properties that an update names to stored form. */
export function normaliseUpdate(
  fields: readonly Field[],
  mode: Update['mode'],
  body: JsonObject,
): JsonObject {
  const bring = mode === 'patch' ? normalisePatch : normalise
  const normalised: { [name: string]: unknown } = { ...body }
  for (const field of fields)
    if (Object.hasOwn(body, field.name)) normalised[field.name] = bring(field, body[field.name])
  return normalised
}

/**
 * Returns the fields after an update, in the schema's order. A PUT fills the missing fields that it replaces with their
 * defaults, a PATCH fills none. Secrets among the fields are not hashed yet (CONTRACT.md §2).
 */
export function updateFields(
  fields: readonly Field[],
  before: JsonObject,
  { mode, named, replaced, now }: Update,
): JsonObject {
  const after: { [name: string]: unknown } = { ...before }
  if (mode === 'patch') {
    for (const [name, patch] of Object.entries(named))
      setOwn(after, name, patch === null ? undefined : mergePatch(readOwn(before, name), patch))
    return orderFields(fields, after)
  }
  const byName = new Map(fields.map((field) => [field.name, field]))
  for (const name of replaced) setOwn(after, name, leaveOver(byName.get(name), readOwn(before, name)))
  for (const name of Object.keys(named))
    setOwn(after, name, carryOver(byName.get(name), readOwn(before, name), named[name]))
  const isGiven = ({ name }: Field): boolean => replaced.has(name) || Object.hasOwn(named, name)
  const given = fields.filter(isGiven).map(forUpdate)
  return orderFields(fields, applyDefaults(given, orderFields(fields, after), now))
}

/** Returns a field without defaults for immutable properties, because only a create sets those. */
export const forUpdate = (field: Field): Field =>
  holdsImmutable(field)
    ? {
        ...field,
        properties: field.properties.map(forUpdate),
        defaultAt(now) {
          const value = field.defaultAt(now)
          return findImmutableChanges([field], {}, { [field.name]: value }).length > 0 ? undefined : value
        },
      }
    : field

/**
 * Applies a JSON merge patch (RFC 7396): `null` removes a property, objects are merged, and other values
 * replace old values.
 */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const merged = new Map(isObject(target) ? Object.entries(target) : [])
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name)
    else merged.set(name, mergePatch(merged.get(name), value))
  }
  return Object.fromEntries(merged)
}

/** Adds to an object the stored properties that a PUT cannot replace: immutable and undeclared properties. */
function carryOver(field: Field | undefined, before: unknown, after: unknown): unknown {
  if (field?.type !== 'object' || !isObject(before) || !isObject(after)) return after
  const properties = new Map(field.properties.map((property) => [property.name, property]))
  const carried = new Map(Object.entries(after))
  for (const [name, value] of Object.entries(before)) {
    const property = properties.get(name)
    if (carried.has(name)) carried.set(name, carryOver(property, value, carried.get(name)))
    else {
      const left = property ? leaveOver(property, value) : value
      if (left !== undefined) carried.set(name, left)
    }
  }
  return Object.fromEntries(carried)
}

/**
 * Returns the part of a value that remains if a PUT does not name the value: immutable properties, and the
 * objects around them. Any other object is removed with its undeclared properties, because an object that
 * remained only for these would reveal them.
 */
function leaveOver(field: Field | undefined, value: unknown): unknown {
  if (field?.definition.immutable) return value
  const left = carryOver(field, value, {})
  return isObject(left) && field?.properties.some(({ name }) => Object.hasOwn(left, name)) ? left : undefined
}

/** Puts declared fields in the schema's order, then the other properties. Omits `undefined` properties. */
function orderFields(fields: readonly Field[], values: JsonObject): JsonObject {
  const ordered: { [name: string]: unknown } = {}
  for (const { name } of fields) {
    const value = readOwn(values, name)
    if (value !== undefined) ordered[name] = value
  }
  for (const name of Object.keys(values)) {
    const value = values[name]
    if (value !== undefined && !Object.hasOwn(ordered, name)) setOwn(ordered, name, value)
  }
  return ordered
}
