import type { FieldRef, ValueType } from '../../core/filter/filter.js'
import { quoteName } from '../sql/dialect.js'

/** Returns a path in SQLite's JSON syntax, as an SQL string. */
export const pathOf = (path: string): string =>
  `'$${path
    .split('.')
    .map((name) => `.${quoteName(name)}`)
    .join('')
    .replaceAll("'", "''")}'`

/** Returns the condition that a string has the form `shape`, in which each `d` is a digit. */
const hasShape = (value: string, shape: string): string => `${value} GLOB '${shape.replaceAll('d', '[0-9]')}'`

/** Returns the condition that a string is a timestamp in stored form. */
type IsTimestamp = (value: string) => string

const isTimestamp: IsTimestamp = (value) => hasShape(value, 'dddd-dd-ddTdd:dd:dd.dddZ')

/** The condition in patterns of at most 50 bytes, which some engines do not exceed. */
const isTimestampInParts: IsTimestamp = (value) =>
  `length(${value}) = 24 AND ${hasShape(`substr(${value}, 1, 10)`, 'dddd-dd-dd')} AND ${hasShape(`substr(${value}, 11)`, 'Tdd:dd:dd.dddZ')}`

/** Returns an SQL expression that is a value if its JSON type fits the declared type, and NULL otherwise. */
function typed(type: ValueType, is: string, value: string, holds: IsTimestamp): string {
  switch (type) {
    case 'string':
      return `CASE ${is} WHEN 'text' THEN ${value} END`
    case 'timestamp':
      return `CASE WHEN ${is} = 'text' AND ${holds(value)} THEN ${value} END`
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

/**
 * Returns an SQL expression for the elements of the array at a path, as rows named `element`. Check `isArray` too,
 * because other values also have rows.
 */
export const elementsAt = (path: string): string => `json_each(document, ${pathOf(path)}) AS element`

export const isArray = (path: string): string => `${typeAt(path)} = 'array'`

export const typeAt = (path: string): string => `json_type(document, ${pathOf(path)})`

/** Builds the SQL of values, with a condition for timestamps. */
const createValues = (holds: IsTimestamp) => ({
  /**
   * Returns an SQL expression for the value of the `json_each` row that is named `element`. It is NULL if the value has
   * another type.
   */
  valueOfElement({ type, inside }: FieldRef): string {
    if (inside === undefined) return `(${typed(type, 'element.type', 'element.value', holds)})`
    // Inner values are read only if the element is an object, because a string could be mistaken for JSON.
    const inner = (read: string): string => `${read}(element.value, ${pathOf(inside)})`
    return `(CASE element.type WHEN 'object' THEN ${typed(type, inner('json_type'), inner('json_extract'), holds)} END)`
  },
  /** Returns an SQL expression for the value of a field. It is NULL if the value is missing or has another type. */
  valueAt: ({ path, type }: FieldRef): string =>
    path === '_id'
      ? '_id'
      : `(${typed(type, typeAt(path), `json_extract(document, ${pathOf(path)})`, holds)})`,
})

export const { valueAt, valueOfElement } = createValues(isTimestamp)

/** The SQL of values for engines that limit the length of patterns. */
export const valuesInParts = createValues(isTimestampInParts)
