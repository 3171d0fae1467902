import type { FieldRef } from '../../../core/filter/filter.js'
import type { Bind, SqlDialect, Statement } from '../../sql/dialect.js'
import type { SqlEngine } from '../../sql/engine.js'
import { createStatements } from '../../sql/statements.js'
import { hasElement, idOfLacking, writeValues } from '../sqlite-dialect.js'
import { valuesInParts } from '../values.js'
import { isExisting, lacksColumn, takenBy } from './faults.js'
import type { ProgramLimits, ProgramStatement } from './program-driver.js'

const { valueAt, valueOfElement } = valuesInParts

const hasTimestamp = (fields: readonly FieldRef[]): boolean => fields.some(({ type }) => type === 'timestamp')

/**
 * The dialect of engines that limit the number of values, the depth of expressions and the length of patterns. All
 * values of a statement are in one JSON array. This also makes numbers equal to those in documents, because some
 * versions of SQLite do not read a decimal as the nearest double.
 */
const dialect: SqlDialect = {
  ...writeValues(valueAt),
  parameter: (place) => `json_extract(?1, '$[${place - 1}]')`,
  ownPlace: 'a database of its own',
  hasElement: (field, condition) => hasElement(field, condition(valueOfElement(field))),
  idOfLacking: (fields) => idOfLacking(fields, valueAt),
  formOf: (fields) => (hasTimestamp(fields) ? 'in parts' : undefined),
  longestChain: 6,
}

/** The engine of programs. It has no tables of array elements. */
export const programEngine: SqlEngine = {
  dialect,
  statements: createStatements(dialect),
  takenBy,
  isExisting,
  lacksColumn,
  isTooLong: () => false,
}

/** Builds a statement around another one, whose values come first. */
export function writeAround(
  { text, values: first }: Statement,
  write: (text: string, bind: Bind) => string,
): Statement {
  const values = [...first]
  return { text: write(text, (one) => dialect.parameter(values.push(one), one)), values }
}

/** The minimum number of characters of a text that is bound by itself, because inside JSON it would be larger. */
const LONG = 512

/** A text with half a surrogate pair is not bound by itself, because in UTF-8 it becomes another text. */
const isLong = (one: unknown): one is string =>
  typeof one === 'string' && one.length >= LONG && !/[\p{Surrogate}\0]/u.test(one)

/** Returns a statement of a program. Its first value is the JSON array of its values, and long texts follow. */
export function toProgramStatement(
  { text, values }: Statement,
  { parameters }: ProgramLimits,
  expect?: number,
): ProgramStatement {
  const places = values.flatMap((one, i) => (isLong(one) ? [i] : [])).slice(0, parameters - 1)
  const short = values.map((one, i) => (places.includes(i) ? 0 : one))
  // Engines differ in what they make of a parameter that the text does not contain.
  const array = places.length < values.length ? [JSON.stringify(short)] : []
  let written = text
  for (const [i, place] of places.entries())
    written = written.replaceAll(dialect.parameter(place + 1, ''), `?${array.length + i + 1}`)
  const long = places.map((place) => String(values[place]))
  return { text: written, values: [...array, ...long], ...(expect === undefined ? {} : { expect }) }
}
