import type { Field } from '../fields/field-type.js'

/** Returns the JSON type of the values of a field; `undefined` if they may have any type. */
const kindOf = (field: Field): unknown => {
  const { type } = field.fieldType.bodySchema(field)
  return type === 'integer' ? 'number' : type
}

/** Whether a field can contain at least some of the values that another field contains. */
export function canHold(target: Field, source: Field): boolean {
  const [to, from] = [kindOf(target), kindOf(source)]
  if (to === undefined || from === undefined) return true
  const types = [target.type, source.type]
  if (to !== from || (types.includes('timestamp') && types.includes('reference'))) return false
  return !target.items || !source.items || canHold(target.items, source.items)
}

/** Returns the type of a field with an article, for messages: for example `an array of string`. */
export const describeType = ({ type, items }: Field): string => {
  const name = type === 'json' ? 'JSON' : type
  const article = /^[aeio]/.test(name) ? 'an' : 'a'
  return items ? `an array of ${items.type}` : `${article} ${name}`
}

/** Returns the type of a field in words, without an article. */
export const nameType = ({ type, items }: Field): string => (items ? `array of ${items.type}` : type)
