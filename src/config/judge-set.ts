import { compileFields } from '../fields/compile-fields.js'
import type { Field } from '../fields/field-type.js'
import { isObject } from '../json/own-properties.js'
import { readPointer, toPointerPart } from '../json/pointer.js'
import { findVariables, type JudgeVariable } from '../query/variable.js'
import type { BodyValidator } from '../schema/validator.js'
import type { JsonObject } from '../types.js'
import { judgeSample } from './judge-sample.js'
import { UNSURE } from './shape/settle-shape.js'

/** The parts of a configuration that the values of a `set` are checked against. */
export interface SetScope {
  readonly fields: readonly Field[]
  readonly validate: BodyValidator
  readonly judgeVariable: JudgeVariable
  readonly givesDefaults?: boolean
}

/** The reasons why a property can never be set to a value: for each variable in it, and for the rest of it. */
export function judgeSet(name: string, value: unknown, scope: SetScope): readonly string[] {
  const declared = scope.fields.filter((field) => field.name === name)
  const fields = declared.length > 0 ? declared : UNDECLARED
  return [...judgeVariables(fields, value, scope.judgeVariable), ...judgeLiterals(name, value, scope)]
}

/** An undeclared property may have any value. */
const UNDECLARED = compileFields({ any: { type: 'json' } })

/** `fields` has the field of the value; it is empty if the type is unknown. */
function judgeVariables(fields: readonly Field[], value: unknown, judge: JudgeVariable): readonly string[] {
  const known = fields.filter(({ definition }) => definition !== UNSURE)
  if (!Array.isArray(value) && !isObject(value))
    return findVariables(value).flatMap((variable) => judge(variable, undefined, known) ?? [])
  return Object.entries(value).flatMap(([name, inner]) => {
    const inside = known.flatMap((field) => findInside(field, name))
    return judgeVariables(inside, inner, judge)
  })
}

/** The field inside a field, by name, or that of its elements. */
const findInside = ({ items, properties }: Field, name: string): Field | readonly Field[] =>
  items ?? properties.find((property) => property.name === name) ?? UNDECLARED

/** The reasons why the literal parts of a value do not fit its field, for all values of its variables. */
function judgeLiterals(name: string, value: unknown, scope: SetScope): readonly string[] {
  const at = toPointerPart(name)
  const sample: JsonObject = { [name]: value }
  const hasVariables = findVariables(value).length > 0
  return judgeSample(scope, sample, at)
    .filter(({ path, code }) => {
      if (!hasVariables || code === 'unknown_property') return true
      // With a variable, the value may have only some properties, which are merged into the stored ones.
      const found = readPointer(sample, path)
      return code !== 'required' && (typeof found !== 'string' || findVariables(found).length === 0)
    })
    .map(({ path, message }) => `is not a value of the field: ${path.slice(at.length)} ${message}`)
}
