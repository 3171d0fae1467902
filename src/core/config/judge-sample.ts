import type { Fault } from '../errors.js'
import type { Field } from '../fields/field-type.js'
import { applyDefaults, normaliseProperties } from '../fields/schema/normalise.js'
import type { BodyValidator } from '../fields/schema/validator.js'
import { readPointer } from '../json/pointer.js'
import type { JsonObject } from '../types.js'

/** An arbitrary time: values from defaults are not checked here. */
const SOMETIME = '2000-01-01T00:00:00.000Z'

/** The compiled schema that a document is checked against. */
interface Schema {
  readonly fields: readonly Field[]
  readonly validate: BodyValidator
  /** Whether missing properties get defaults, which a PATCH does not. Default: true. */
  readonly givesDefaults?: boolean
}

/**
 * The faults of a value that a configuration gives to a field, at its place in a document that holds only this value.
 * Defaults inside it complete it, as before it is stored; they are checked where they are declared.
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
