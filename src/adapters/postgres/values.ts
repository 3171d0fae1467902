import type { FieldRef, ValueType } from '../../core/filter/filter.js'

/** Quotes a string as a literal of the SQL standard. */
export const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Builds an expression for the `jsonb` at a path. */
export const jsonAt = (path: string, root = 'document'): string =>
  [root, ...path.split('.').map(quoteText)].join(' -> ')

/** Builds an expression for the value at a path as text. A value that is not a string becomes its JSON text. */
export const textAt = (path: string): string => {
  const place = path.lastIndexOf('.')
  const [root, name] = place < 0 ? ['document', path] : [jsonAt(path.slice(0, place)), path.slice(place + 1)]
  return `(${root} ->> ${quoteText(name)}) COLLATE "C"`
}

/**
 * The pattern of a timestamp. It contains no backslash, because a server setting decides what a backslash in a
 * literal means.
 */
const TIMESTAMP = `'^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}Z$'`

/**
 * Builds an expression that converts a `jsonb` to a declared type, and is NULL if the `jsonb` has another type. The
 * type is checked before the cast.
 */
export function typed(type: ValueType, json: string): string {
  const text = `(${json} #>> '{}') COLLATE "C"`
  const number = `(${json})::float8`
  const when = (kind: string, value: string): string =>
    `(CASE jsonb_typeof(${json}) WHEN '${kind}' THEN ${value} END)`
  switch (type) {
    case 'string':
      return when('string', text)
    case 'timestamp':
      return when('string', `CASE WHEN ${text} ~ ${TIMESTAMP} THEN ${text} END`)
    case 'number':
      return when('number', number)
    case 'integer':
      return when('number', `CASE WHEN trunc(${number}) = ${number} THEN ${number} END`)
    case 'boolean':
      return when('boolean', `(${json})::boolean`)
    case 'object':
    case 'array':
    case 'json':
      throw new Error(`values of type ${type} cannot be compared`)
    default:
      return type satisfies never
  }
}

/** Returns the type of a column for values of a declared type. */
export function columnTypeOf(type: ValueType): string {
  switch (type) {
    case 'string':
    case 'timestamp':
      return 'text COLLATE "C"'
    case 'number':
    case 'integer':
      return 'float8'
    case 'boolean':
      return 'boolean'
    case 'object':
    case 'array':
    case 'json':
      throw new Error(`values of type ${type} cannot be compared`)
    default:
      return type satisfies never
  }
}

/** Builds an expression for the value of a field. It is NULL if the value is missing or has another type. */
export const valueAt = ({ path, type }: FieldRef, root = 'document'): string =>
  typed(type, jsonAt(path, root))

/**
 * Builds an expression for the value of a field in the row `element` of `elementsAt`. It is NULL if the value is
 * missing or has another type.
 */
export const valueOfElement = ({ type, inside }: FieldRef): string =>
  typed(type, inside === undefined ? 'element.value' : jsonAt(inside, 'element.value'))

/**
 * Builds a FROM item with a row named `element` for each element of the array at a path. Without an array, it has no
 * rows.
 */
export const elementsAt = (path: string, root = 'document'): string =>
  `jsonb_array_elements(CASE jsonb_typeof(${jsonAt(path, root)}) WHEN 'array' THEN ${jsonAt(path, root)} END) AS element(value)`
