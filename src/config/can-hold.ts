import type { Field } from '../fields/field-type.js'
import type { ValueType } from '../filter/filter.js'

/** What the values of a type are in JSON. */
const KINDS: { readonly [type in ValueType]: string } = {
  string: 'string',
  timestamp: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  object: 'object',
  array: 'array',
  json: 'json',
}

/** Whether a field can hold any of the values that another holds. */
export function canHold(target: Field, source: Field): boolean {
  // A secret is text.
  const kinds = [target, source].map(({ fieldType }) => KINDS[fieldType.valueType ?? 'string'])
  if (kinds.includes('json')) return true
  const types = [target.type, source.type]
  if (kinds[0] !== kinds[1] || (types.includes('timestamp') && types.includes('reference'))) return false
  return !target.items || !source.items || canHold(target.items, source.items)
}

/** The end of a message about values that none of some fields can hold. */
export const describeMisfit = (source: Field, targets: readonly Field[]): string =>
  `is of type ${print(source)}, and the field takes ${[...new Set(targets.map(print))].join(', ')}`

const print = ({ type, items }: Field): string => (items ? `array of ${items.type}` : type)
