import type { Field } from '../../fields/field-type.js'
import type { ComparableType, Scalar } from '../../filter/filter.js'

/** The types of the claims' values, by name; `null` where the type is unknown, because of a fault. */
export type ClaimTypes = ReadonlyMap<string, ComparableType | null>

/** A value of each type that a claim can have. */
const SAMPLES: { readonly [type in ComparableType]: Scalar } = {
  string: '',
  timestamp: '',
  number: 0,
  integer: 0,
  boolean: true,
}

/** Whether a field can hold values of a claim. */
export const canHoldClaim = ({ fieldType }: Field, type: ComparableType | null): boolean =>
  fieldType.isScalar && (type === null || fieldType.judgeOperand(SAMPLES[type]) !== 'type')
