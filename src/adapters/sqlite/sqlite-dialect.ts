import type { ComparableType, FieldRef, ValueType } from '../../filter/filter.js'
import { quoteName, type SqlDialect, STRUCTURES } from '../sql/dialect.js'

/** The path of a place, in SQLite's own words for JSON. */
const pathOf = (path: string): string =>
  `'$${path
    .split('.')
    .map((name) => `.${quoteName(name)}`)
    .join('')
    .replaceAll("'", "''")}'`

const TIMESTAMP = `'${'dddd-dd-ddTdd:dd:dd.dddZ'.replaceAll('d', '[0-9]')}'`

/** A value, given its type in SQLite's words and itself, where it is of a declared type; else NULL. */
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

const ofElement = (type: ValueType): string => `(${typed(type, 'element.type', 'element.value')})`

/** Only of an object is the value JSON; of text it would be taken for some. */
function insideElement(type: ValueType, path: string): string {
  const inner = (read: string): string => `${read}(element.value, ${pathOf(path)})`
  return `(CASE element.type WHEN 'object' THEN ${typed(type, inner('json_type'), inner('json_extract'))} END)`
}

const typeAt = (path: string): string => `json_type(document, ${pathOf(path)})`

const valueAt = ({ path, type }: FieldRef): string =>
  path === '_id' ? '_id' : `(${typed(type, typeAt(path), `json_extract(document, ${pathOf(path)})`)})`

/** What no value of a type is below. */
const LOWEST: { readonly [type in ComparableType]: string } = {
  string: "''",
  timestamp: "''",
  number: '-9e999',
  integer: '-9e999',
  boolean: '0',
}

const nativeLimit = (limit: number | null): number => limit ?? -1

/** SQLite's JSON functions; text is compared byte by byte, which in UTF-8 is the order of code points. */
export const sqliteDialect: SqlDialect = {
  parameter: () => '?',
  // A name may not begin with sqlite_.
  table: (collection) => quoteName(`c_${collection}`),
  columns: { id: () => 'TEXT NOT NULL PRIMARY KEY', document: 'TEXT' },
  structures: { table: quoteName(STRUCTURES), order: 'rowid' },
  documentText: 'document',
  toDocument: (text) => text,
  // Nobody else writes meanwhile; but a statement cannot pause.
  hold: { most: 1000, ending: '' },
  value: valueAt,
  // For NOT NULL it would walk past all that are NULL.
  hasValue: (field, type) => `${valueAt(field)} >= ${LOWEST[type]}`,
  isPresent(path, kind) {
    const found = `coalesce(${typeAt(path)}, 'null')`
    return kind === 'any' ? `(${found} <> 'null')` : `(${found} = '${kind}')`
  },
  hasElement({ path, type, inside }, condition) {
    const elements = `json_each(document, ${pathOf(path)}) AS element`
    const element = inside === undefined ? ofElement(type) : insideElement(type, inside)
    return `EXISTS (SELECT 1 FROM ${elements} WHERE ${typeAt(path)} = 'array' AND ${condition(element)})`
  },
  // A search through one text could not pause.
  match: () => undefined,
  isOneOf: (value, values, bind) =>
    `${value} IN (SELECT value FROM json_each(${bind(JSON.stringify(values))}))`,
  order: (field, descending) => `${valueAt(field)} ${descending ? 'DESC' : 'ASC'}`,
  manyTexts: null,
  limit: (skip, limit, bind) =>
    skip === 0 && limit === null ? '' : ` LIMIT ${bind(nativeLimit(limit))} OFFSET ${bind(skip)}`,
}
