import type { Field } from '../fields/field-type.js'
import { toPointerPart } from '../json/pointer.js'
import type { ConfigReport } from '../json/report.js'
import { findVariables } from '../query/variable.js'
import { normaliseProperties } from '../schema/normalise.js'
import type { BodyValidator } from '../schema/validator.js'
import type { JsonObject } from '../types.js'

/** A place in a document, and in the configuration. */
interface Place {
  readonly pointer: string
  readonly report: ConfigReport
  /** A document that holds only this value, at this place. */
  readonly wrap: (value: unknown) => JsonObject
}

/** Checks that every default is a value that its field accepts. */
export function checkDefaults(fields: readonly Field[], validate: BodyValidator, schema: ConfigReport): void {
  const visit = (field: Field, place: Place): void => {
    const { properties, items } = field
    const written = field.defaultAt(null)
    const [variable] = findVariables(written)
    if (variable !== undefined) {
      const allowed = 'a default is a value, or "$now" for a timestamp'
      place.report.at('default').fault(`${JSON.stringify(variable)} is not a value: ${allowed}`)
    } else if (written !== undefined) {
      const sample = normaliseProperties(fields, place.wrap(written))
      for (const { path, message } of validate(sample, { limit: Number.POSITIVE_INFINITY })) {
        if (path !== place.pointer && !path.startsWith(`${place.pointer}/`)) continue
        const inside = path.slice(place.pointer.length)
        place.report.at('default').fault(`is not a value of the field: ${inside} ${message}`)
      }
    }
    visitAll(properties, { ...place, report: place.report.at('properties') })
    if (items) {
      const wrap: Place['wrap'] = (value) => place.wrap([value])
      visit(items, { pointer: `${place.pointer}/0`, report: place.report.at('items'), wrap })
    }
  }
  const visitAll = (inner: readonly Field[], { pointer, report, wrap }: Place): void => {
    for (const field of inner) {
      visit(field, {
        pointer: pointer + toPointerPart(field.name),
        report: report.at(field.name),
        wrap: (value) => wrap({ [field.name]: value }),
      })
    }
  }
  visitAll(fields, { pointer: '', report: schema, wrap: (value) => value as JsonObject })
}
