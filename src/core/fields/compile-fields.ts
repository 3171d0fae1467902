import type { FieldRef } from '../filter/filter.js'
import type { FieldDefinition } from '../types.js'
import type { Definitions, Field, FieldType } from './field-type.js'
import { fieldTypeOf } from './field-types.js'
import { normaliseId } from './types/reference.js'

/** Compiles the definitions of a schema, or of the properties of an object. */
export const compileFields = (definitions: Definitions, parent = ''): readonly Field[] =>
  Object.entries(definitions).map(([name, definition]) => compileField(name, `${parent}${name}`, definition))

function compileField(name: string, path: string, definition: FieldDefinition): Field {
  const fieldType = fieldTypeOf(definition.type)
  const inside = fieldType.inside?.(definition) ?? {}
  const items = inside.items ? compileField(name, path, inside.items) : null
  const normalise = fieldType.compileNormalise?.(definition) ?? ((value) => value)
  const ofNull = definition.nullable ? undefined : null
  const { readDefault } = fieldType
  const written = 'default' in definition ? definition.default : undefined
  const properties = inside.properties ? compileFields(inside.properties, `${path}.`) : []
  return {
    name,
    path,
    type: definition.type,
    fieldType,
    definition,
    ref: compileRef(path, fieldType, items),
    properties,
    items,
    normalise: (value) => (value === null ? ofNull : normalise(value)),
    defaultAt: readDefault ? (now) => readDefault(written, now) : () => written,
    fillsInside: [...properties, ...(items ? [items] : [])].some(
      (one) => one.fillsInside || (one !== items && 'default' in one.definition),
    ),
  }
}

/** Returns a field as filters see it. A filter on an array of scalars matches if any element matches. */
function compileRef(path: string, { valueType }: FieldType, items: Field | null): FieldRef | null {
  if (items?.ref && items.fieldType.isScalar) return { ...items.ref, each: true }
  return valueType && { path, type: valueType, each: false }
}

const SYSTEM_TYPES = {
  _id: 'string',
  createdAt: 'timestamp',
  updatedAt: 'timestamp',
  createdBy: 'string',
} as const

/** The fields that every document has. */
export const SYSTEM_FIELD_PLANS: readonly Field[] = Object.entries(SYSTEM_TYPES).map(([name, type]) => {
  const field = compileField(name, name, { type })
  return name === '_id' ? { ...field, normalise: normaliseId } : field
})

/**
 * Returns all fields that a query may name, including properties of objects, but without secrets and without
 * fields inside arrays.
 */
export const collectPaths = (fields: readonly Field[]): readonly Field[] =>
  fields.flatMap((field) => (field.ref ? [field, ...collectPaths(field.properties)] : []))
