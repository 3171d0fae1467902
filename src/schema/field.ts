import type { FieldRef, ValueType } from '../filter/filter.js'
import type { FieldDefinition, FieldTypeName } from '../types.js'

/** A field of a schema, compiled: its place, its type, and what lies inside it. */
export interface Field {
  readonly name: string
  /** Dotted; that of the array for its items. */
  readonly path: string
  readonly type: FieldTypeName
  readonly definition: FieldDefinition
  /** How filters and sorts see it; `null` for a hash, which they never see. */
  readonly ref: FieldRef | null
  /** Of an object. */
  readonly properties: readonly Field[]
  /** Of an array. */
  readonly items: Field | null
}

/** What the language of queries makes of a type. */
export interface TypeTraits {
  /** A single value, which can be compared, sorted by, unique and indexed. */
  readonly isScalar: boolean
  /** Unquoted text in a query is text; patterns apply. */
  readonly holdsText: boolean
  /** The ordering operators apply. */
  readonly isOrdered: boolean
}

const TRAITS: { readonly [type in FieldTypeName]: TypeTraits } = {
  string: { isScalar: true, holdsText: true, isOrdered: true },
  timestamp: { isScalar: true, holdsText: true, isOrdered: true },
  number: { isScalar: true, holdsText: false, isOrdered: true },
  integer: { isScalar: true, holdsText: false, isOrdered: true },
  boolean: { isScalar: true, holdsText: false, isOrdered: false },
  hash: { isScalar: false, holdsText: false, isOrdered: false },
  array: { isScalar: false, holdsText: false, isOrdered: false },
  object: { isScalar: false, holdsText: false, isOrdered: false },
  json: { isScalar: false, holdsText: false, isOrdered: false },
  reference: { isScalar: true, holdsText: true, isOrdered: true },
}

export const traitsOf = (type: FieldTypeName): TypeTraits => TRAITS[type]

/** Compiles the definitions of a schema, or of an object's properties. */
export const compileFields = (
  definitions: { readonly [name: string]: FieldDefinition },
  parent = '',
): readonly Field[] =>
  Object.entries(definitions).map(([name, definition]) => compileField(name, `${parent}${name}`, definition))

function compileField(name: string, path: string, definition: FieldDefinition): Field {
  return {
    name,
    path,
    type: definition.type,
    definition,
    ref: compileRef(path, definition),
    properties: definition.type === 'object' ? compileFields(definition.properties, `${path}.`) : [],
    items: definition.type === 'array' ? compileField(name, path, definition.items) : null,
  }
}

function compileRef(path: string, definition: FieldDefinition): FieldRef | null {
  if (definition.type === 'hash') return null
  const { type } = definition.type === 'array' ? definition.items : definition
  if (definition.type === 'array' && type !== 'hash' && traitsOf(type).isScalar) {
    return { path, type: valueTypeOf(type), each: true }
  }
  return { path, type: valueTypeOf(definition.type), each: false }
}

/** What filters take a type for: a reference is the text of an `_id`. */
function valueTypeOf(type: Exclude<FieldTypeName, 'hash'>): ValueType {
  return type === 'reference' ? 'string' : type
}

const SYSTEM_TYPES = {
  _id: 'string',
  createdAt: 'timestamp',
  updatedAt: 'timestamp',
  createdBy: 'string',
} as const

/** The fields that every document has. */
export const SYSTEM_FIELD_PLANS: readonly Field[] = Object.entries(SYSTEM_TYPES).map(([name, type]) =>
  compileField(name, name, { type }),
)

/** Every path that a query may name: fields and, inside objects, their properties; never into arrays, never a hash. */
export function collectPaths(fields: readonly Field[]): readonly Field[] {
  return fields.flatMap((field) => (field.type === 'hash' ? [] : [field, ...collectPaths(field.properties)]))
}
