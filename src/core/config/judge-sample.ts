import type { Fault } from '../errors.js'
import type { Field } from '../fields/field-type.js'
import { applyDefaults, normaliseProperties } from '../fields/schema/normalise.js'
import type { BodyValidator } from '../fields/schema/validator.js'
import { readPointer } from '../json/pointer.js'
import type { JsonObject } from '../types.js'

/** An arbitrary time for the defaults, whose values are not checked here. */
const SOMETIME = '2000-01-01T00:00:00.000Z'

/** The compiled schema against which a document is checked. */
interface Schema {
  readonly fields: readonly Field[]
  readonly validate: BodyValidator
  /** Whether missing properties get their defaults. A PATCH does not add defaults. Default: true. */
  readonly givesDefaults?: boolean
}

/**
 * Returns the faults of a value that a configuration gives to a field. `sample` is a document that contains
 * only this value, at the pointer `place`. Defaults are added inside the value as in a write, but are
 * themselves checked where they are declared.
 */
export function judgeSample(
  { fields, validate, givesDefaults = true }: Schema,
  sample: JsonObject,
  place: string,
): readonly Fault[] {
  const given = normaliseProperties(fields, sample)
  const filled = givesDefaults ? applyDefaults(fields, given, SOMETIME) : given
  const isFilled = (path: string): boolean =>
    readPointer(given, path) === undefined && readPointer(filled, path) !== undefined
  return validate(filled, { limit: Number.POSITIVE_INFINITY }).filter(
    ({ path }) => (path === place || path.startsWith(`${place}/`)) && !isFilled(path),
  )
}
