import type { Field } from '../../fields/field-type.js'
import { HASHES, HIDDEN, storedNameOf } from '../../fields/names.js'
import type { FieldRef } from '../../filter/filter.js'
import { isObject, setOwn } from '../../json/own-properties.js'
import type { JsonObject } from '../../types.js'

/** The declared and the stored names of the fields of one object. */
export interface FieldNames {
  readonly byName: ReadonlyMap<string, NamedField>
  readonly byStored: ReadonlyMap<string, NamedField>
}

interface NamedField {
  readonly name: string
  readonly stored: string
  /** The names inside an object, or inside the objects of an array; `null` if all are stored as declared. */
  readonly inside: FieldNames | null
  /** The number of arrays around these objects. */
  readonly depth: number
}

/** Compiles the names of fields; `null` if all of them are stored as declared. */
export function compileNames(fields: readonly Field[]): FieldNames | null {
  const own = fields.map(nameField)
  if (!own.some(isRenamed)) return null
  // A text that an earlier configuration stored is under the name of a hash, and the hashes are under their own key.
  const hashed = fields.filter(({ type }) => type === 'hash').map(nameField)
  const holder: NamedField = { name: HASHES, stored: HASHES, inside: index(hashed), depth: 0 }
  return index(hashed.length > 0 ? [...own, holder] : own)
}

function nameField(field: Field): NamedField {
  let [inner, depth] = [field, 0]
  for (; inner.items; depth += 1) inner = inner.items
  return {
    name: field.name,
    stored: storedNameOf(field),
    inside: compileNames(inner.properties),
    depth,
  }
}

const index = (named: readonly NamedField[]): FieldNames => ({
  byName: new Map(named.map((one) => [one.name, one])),
  byStored: new Map(named.map((one) => [one.stored, one])),
})

const isRenamed = ({ name, stored, inside }: NamedField): boolean => name !== stored || inside !== null

/**
 * Renames the properties of a stored object to the names of the configuration. A property that only has the name of a
 * field becomes a hidden one.
 */
export function toDeclared(names: FieldNames, stored: JsonObject): JsonObject {
  const declared: { [name: string]: unknown } = {}
  for (const key of Object.keys(stored)) {
    const field = names.byStored.get(key)
    if (field) declared[field.name] = renameInside(field, stored[key], toDeclared)
    else setOwn(declared, names.byName.has(key) ? HIDDEN + key : key, stored[key])
  }
  return declared
}

/** Renames the properties of an object to their stored names. The inverse of `toDeclared`. */
export function toStored(names: FieldNames, declared: JsonObject): JsonObject {
  const stored: { [name: string]: unknown } = {}
  for (const key of Object.keys(declared)) {
    const field = names.byName.get(key)
    if (field) stored[field.stored] = renameInside(field, declared[key], toStored)
    else if (names.byStored.has(key)) throw new Error(`a property would be stored as the field ${key}`)
    else setOwn(stored, key.startsWith(HIDDEN) ? key.slice(HIDDEN.length) : key, declared[key])
  }
  return stored
}

/** Renames inside the objects of a field. A value of another type is returned unchanged. */
function renameInside(
  { inside, depth }: Pick<NamedField, 'inside' | 'depth'>,
  value: unknown,
  rename: (names: FieldNames, object: JsonObject) => JsonObject,
): unknown {
  if (!inside) return value
  if (depth > 0)
    return Array.isArray(value)
      ? value.map((element) => renameInside({ inside, depth: depth - 1 }, element, rename))
      : value
  return isObject(value) ? rename(inside, value) : value
}

/** Renames the fields of a dotted path to their stored names. A path that is not declared is returned unchanged. */
export function storedPath(names: FieldNames | null, path: string): string {
  if (!names) return path
  const [first = path, ...rest] = path.split('.')
  const field = names.byName.get(first)
  if (!field) return path
  return rest.length === 0 ? field.stored : `${field.stored}.${storedPath(field.inside, rest.join('.'))}`
}

/** Renames the fields of a stored path to the names of the configuration. The inverse of `storedPath`. */
export function declaredPath(names: FieldNames | null, path: string): string {
  if (!names) return path
  const [first = path, ...rest] = path.split('.')
  const field = names.byStored.get(first)
  if (!field) return names.byName.has(first) ? HIDDEN + path : path
  return rest.length === 0 ? field.name : `${field.name}.${declaredPath(field.inside, rest.join('.'))}`
}

/** Returns the field of a filter or an index as it is stored. */
export function storedRef(names: FieldNames, ref: FieldRef): FieldRef {
  const path = storedPath(names, ref.path)
  const { inside } = ref
  if (inside === undefined) return path === ref.path ? ref : { ...ref, path }
  return { ...ref, path, inside: storedPath(namesAt(names, ref.path), inside) }
}

/** Returns the names inside the field at a declared path. */
const namesAt = (names: FieldNames, path: string): FieldNames | null =>
  path.split('.').reduce<FieldNames | null>((level, name) => level?.byName.get(name)?.inside ?? null, names)
