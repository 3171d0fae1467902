import { isObject } from '../json/own-properties.js'
import { type Binding, bindValue } from '../query/variable.js'

/** The values of variables as text; variables without a value are left out. */
export const writeValues = (variables: readonly string[], binding: Binding): string =>
  `[${variables.map((variable) => writeVariable(variable, binding)).join()}]`

/** The value of a variable as text. An incomplete claim differs from a complete one with the same values. */
function writeVariable(variable: string, binding: Binding): string {
  const bound = bindValue(variable, binding)
  if (bound) return writeValue(bound.value ?? null)
  const some = bindValue(variable, binding, 'some')
  return some ? `${writeValue(some.value)}~` : 'null'
}

/** A value as text. An object is never compared: one of a host may have a `toJSON` that imitates another value. */
const writeValue = (value: unknown): string =>
  Array.isArray(value) ? `[${value.map(writeValue).join()}]` : isObject(value) ? '{}' : JSON.stringify(value)
