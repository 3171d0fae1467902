import type { Collection } from '../../config/plan.js'
import type { Field } from '../../fields/field-type.js'
import { HASHES, storedNameOf } from '../../fields/names.js'
import type { FieldTypeName } from '../../types.js'

/** The JSON type of stored values; `json` is every type. */
export type StoredType = 'string' | 'number' | 'boolean' | 'array' | 'object' | 'json'

const STORED_TYPES: { readonly [type in FieldTypeName]: StoredType } = {
  string: 'string',
  timestamp: 'string',
  reference: 'string',
  hash: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  array: 'array',
  object: 'object',
  json: 'json',
}

/** The step of a path to the elements of an array. No field has this name. */
export const ELEMENTS = '[]'

/** A declared name in the storage. */
export interface StoredName {
  readonly field: Field
  /** The stored names that lead to it; `[]` leads to the elements of an array: `["links", "[]", "to"]`. */
  readonly path: readonly string[]
  readonly type: StoredType
  /** The JSON pointer of its definition, inside the collection. */
  readonly pointer: string
  /** Whether the configuration says its stored name, for it or for an object or array around it. */
  readonly isExplicit: boolean
}

/** Lists the stored names of a collection, those of objects and arrays before those inside them. */
export const describeNames = ({ fields }: Pick<Collection, 'fields'>): readonly StoredName[] =>
  fields.flatMap((field) =>
    describeField(field, {
      path: field.type === 'hash' ? [HASHES] : [],
      pointer: '/schema',
      isExplicit: false,
    }),
  )

/** The fields of a collection that have `fill`. */
export const listFills = (collection: Pick<Collection, 'fields'>): readonly StoredName[] =>
  describeNames(collection).filter(({ field }) => field.definition.fill !== undefined)

type Parent = Pick<StoredName, 'path' | 'pointer' | 'isExplicit'>

function describeField(field: Field, parent: Parent): readonly StoredName[] {
  const own: Parent = {
    path: [...parent.path, storedNameOf(field)],
    pointer: `${parent.pointer}/${field.name}`,
    isExplicit: parent.isExplicit || field.definition.stored !== undefined,
  }
  return describeValue(field, own)
}

function describeValue(field: Field, own: Parent): readonly StoredName[] {
  const { type, items, properties } = field
  const inside = { ...own, pointer: `${own.pointer}/properties` }
  return [
    { ...own, field, type: STORED_TYPES[type] },
    ...properties.flatMap((property) => describeField(property, inside)),
    ...(items
      ? describeValue(items, { ...own, path: [...own.path, ELEMENTS], pointer: `${own.pointer}/items` })
      : []),
  ]
}
