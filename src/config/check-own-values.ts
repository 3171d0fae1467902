import type { Field } from '../fields/field-type.js'
import { toPointerPart } from '../json/pointer.js'
import type { ConfigReport } from '../json/report.js'
import { findVariables } from '../query/variable.js'
import type { BodyValidator } from '../schema/validator.js'
import type { JsonObject } from '../types.js'
import { judgeSample } from './judge-sample.js'

/** A place in a document, and in the configuration. */
interface ValueLocation {
  readonly pointer: string
  readonly report: ConfigReport
  /** Creates a document that holds only this value, at this place. */
  readonly wrap: (value: unknown) => JsonObject
}

/** Checks that every default, and every value of an `enum`, is one that its field accepts. */
export function checkOwnValues(
  fields: readonly Field[],
  validate: BodyValidator,
  schema: ConfigReport,
): void {
  const judge = (value: unknown, place: ValueLocation, report: ConfigReport): void => {
    for (const { path, message } of judgeSample({ fields, validate }, place.wrap(value), place.pointer)) {
      const inside = path.slice(place.pointer.length)
      report.fault(`is not a value of the field: ${inside}${inside && ' '}${message}`)
    }
  }
  const visit = (field: Field, place: ValueLocation): void => {
    const { definition, properties, items } = field
    const written = field.defaultAt(null)
    const [variable] = findVariables(written)
    if (variable !== undefined) {
      const allowed = 'a default is a value, or "$now" for a timestamp'
      place.report.at('default').fault(`${JSON.stringify(variable)} is not a value: ${allowed}`)
    } else if (written !== undefined) judge(written, place, place.report.at('default'))
    const choices: readonly unknown[] = 'enum' in definition ? (definition.enum ?? []) : []
    for (const [i, value] of choices.entries()) judge(value, place, place.report.at('enum').at(i))
    visitAll(properties, { ...place, report: place.report.at('properties') })
    if (items) {
      const wrap: ValueLocation['wrap'] = (value) => place.wrap([value])
      visit(items, { pointer: `${place.pointer}/0`, report: place.report.at('items'), wrap })
    }
  }
  const visitAll = (inner: readonly Field[], { pointer, report, wrap }: ValueLocation): void => {
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
