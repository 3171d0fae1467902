import { isObject } from '../json/own-properties.js'
import { type Binding, bindValue } from '../query/variable.js'

/** The values of variables as text; nothing of those that have none. */
export const writeValues = (variables: readonly string[], binding: Binding): string =>
  `[${variables.map((variable) => writeVariable(variable, binding)).join()}]`

/** The value of a variable as text. A claim without all of its values is another than one that has no more. */
function writeVariable(variable: string, binding: Binding): string {
  const bound = bindValue(variable, binding)
  if (bound) return writeValue(bound.value ?? null)
  const some = bindValue(variable, binding, 'some')
  return some ? `${writeValue(some.value)}~` : 'null'
}

/** A value as text. That of a host may have a `toJSON`, and look like another; no condition compares an object. */
const writeValue = (value: unknown): string =>
  Array.isArray(value) ? `[${value.map(writeValue).join()}]` : isObject(value) ? '{}' : JSON.stringify(value)
