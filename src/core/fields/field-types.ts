import type { FieldTypeName } from '../types.js'
import type { FieldType } from './field-type.js'
import { arrayType } from './types/array.js'
import { booleanType } from './types/boolean.js'
import { hashType } from './types/hash.js'
import { jsonType } from './types/json.js'
import { integerType, numberType } from './types/number.js'
import { objectType } from './types/object.js'
import { referenceType } from './types/reference.js'
import { stringType } from './types/string.js'
import { timestampType } from './types/timestamp.js'

const FIELD_TYPES = {
  string: stringType,
  hash: hashType,
  number: numberType,
  integer: integerType,
  boolean: booleanType,
  timestamp: timestampType,
  array: arrayType,
  object: objectType,
  json: jsonType,
  reference: referenceType,
} satisfies { readonly [type in FieldTypeName]: FieldType<type> }

/** The names of all field types. */
export const FIELD_TYPE_NAMES = Object.keys(FIELD_TYPES) as readonly FieldTypeName[]

/** Returns the traits of a field type. */
export const fieldTypeOf = (type: FieldTypeName): FieldType => FIELD_TYPES[type]
