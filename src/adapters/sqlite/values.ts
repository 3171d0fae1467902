import type { FieldRef, ValueType } from '../../core/filter/filter.js'
import { quoteName } from '../sql/dialect.js'

/** A path in SQLite's JSON syntax. */
export const pathOf = (path: string): string =>
  `'$${path
    .split('.')
    .map((name) => `.${quoteName(name)}`)
    .join('')
    .replaceAll("'", "''")}'`

const TIMESTAMP = `'${'dddd-dd-ddTdd:dd:dd.dddZ'.replaceAll('d', '[0-9]')}'`

/** A value if its SQLite type is that of the declared type; otherwise NULL. */
function typed(type: ValueType, is: string, value: string): string {
  switch (type) {
    case 'string':
      return `CASE ${is} WHEN 'text' THEN ${value} END`
    case 'timestamp':
      return `CASE WHEN ${is} = 'text' AND ${value} GLOB ${TIMESTAMP} THEN ${value} END`
    case 'number':
      return `CASE WHEN ${is} IN ('integer', 'real') THEN ${value} END`
    case 'integer':
      return `CASE ${is} WHEN 'integer' THEN ${value} WHEN 'real' THEN CASE WHEN ${value} = round(${value}) THEN ${value} END END`
    case 'boolean':
      return `CASE ${is} WHEN 'true' THEN 1 WHEN 'false' THEN 0 END`
    case 'object':
    case 'array':
    case 'json':
      throw new Error(`values of type ${type} cannot be compared`)
    default:
      return type satisfies never
  }
}

/** The value of an element of `json_each`, which is named `element`; NULL if it is of another type. */
export function valueOfElement({ type, inside }: FieldRef): string {
  if (inside === undefined) return `(${typed(type, 'element.type', 'element.value')})`
  // The value of an element is JSON only if it is an object; a text could be mistaken for JSON.
  const inner = (read: string): string => `${read}(element.value, ${pathOf(inside)})`
  return `(CASE element.type WHEN 'object' THEN ${typed(type, inner('json_type'), inner('json_extract'))} END)`
}

/** The elements of the array at a path, named `element`. Check `isArray` too: other values also yield elements. */
export const elementsAt = (path: string): string => `json_each(document, ${pathOf(path)}) AS element`

export const isArray = (path: string): string => `${typeAt(path)} = 'array'`

export const typeAt = (path: string): string => `json_type(document, ${pathOf(path)})`

/** The value of a field; NULL if it is missing or of another type. */
export const valueAt = ({ path, type }: FieldRef): string =>
  path === '_id' ? '_id' : `(${typed(type, typeAt(path), `json_extract(document, ${pathOf(path)})`)})`
