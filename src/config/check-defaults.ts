import type { ConfigFault } from '../errors.js'
import type { Field } from '../fields/field-type.js'
import { toPointerPart } from '../json/pointer.js'
import { normaliseProperties } from '../schema/normalise.js'
import type { BodyValidator } from '../schema/validator.js'
import type { JsonObject } from '../types.js'

/** A place in a document, and in the configuration. */
interface Place {
  readonly pointer: string
  readonly at: string
  /** A document that holds nothing but a value there. */
  readonly wrap: (value: unknown) => JsonObject
}

/** Every default must be a value that the field accepts. */
export function checkDefaults(
  fields: readonly Field[],
  validate: BodyValidator,
  at: string,
  faults: ConfigFault[],
): void {
  const visit = (field: Field, place: Place): void => {
    const { properties, items } = field
    const written = field.defaultAt(null)
    if (written !== undefined) {
      const sample = normaliseProperties(fields, place.wrap(written))
      for (const { path, message } of validate(sample, { limit: Number.POSITIVE_INFINITY })) {
        if (path !== place.pointer && !path.startsWith(`${place.pointer}/`)) continue
        const inside = path.slice(place.pointer.length)
        faults.push({
          path: `${place.at}/default`,
          message: `is no value of the field: ${inside} ${message}`,
        })
      }
    }
    visitAll(properties, { ...place, at: `${place.at}/properties` })
    if (items) {
      const wrap: Place['wrap'] = (value) => place.wrap([value])
      visit(items, { pointer: `${place.pointer}/0`, at: `${place.at}/items`, wrap })
    }
  }
  const visitAll = (inner: readonly Field[], { pointer, at, wrap }: Place): void => {
    for (const field of inner) {
      const part = toPointerPart(field.name)
      visit(field, {
        pointer: pointer + part,
        at: at + part,
        wrap: (value) => wrap({ [field.name]: value }),
      })
    }
  }
  visitAll(fields, { pointer: '', at: `${at}/schema`, wrap: (value) => value as JsonObject })
}
