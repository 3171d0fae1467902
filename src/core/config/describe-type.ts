import type { Field } from '../fields/field-type.js'

/** Returns the type of a field with an article, for messages: for example `an array of string`. */
export const describeType = ({ type, items }: Field): string => {
  const name = type === 'json' ? 'JSON' : type
  const article = /^[aeio]/.test(name) ? 'an' : 'a'
  return items ? `an array of ${items.type}` : `${article} ${name}`
}
