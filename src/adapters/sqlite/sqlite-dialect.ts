import type { ComparableType, FieldRef, ValueType } from '../../filter/filter.js'
import { quoteName, type SqlDialect, STRUCTURES } from '../sql/dialect.js'
import { LOG, LOG_HEAD } from '../sql/log/recorder.js'
import { tableNameOf } from './table-names.js'

/** A path in SQLite's JSON syntax. */
const pathOf = (path: string): string =>
  `'$${path
    .split('.')
    .map((name) => `.${quoteName(name)}`)
    .join('')
    .replaceAll("'", "''")}'`

const TIMESTAMP = `'${'dddd-dd-ddTdd:dd:dd.dddZ'.replaceAll('d', '[0-9]')}'`

/** A value where its SQLite type is that of the declared type; otherwise NULL. */
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

/** The value of an element is JSON only if it is an object; a text could be mistaken for JSON. */
function insideElement(type: ValueType, path: string): string {
  const inner = (read: string): string => `${read}(element.value, ${pathOf(path)})`
  return `(CASE element.type WHEN 'object' THEN ${typed(type, inner('json_type'), inner('json_extract'))} END)`
}

/** The last key of a unique index. */
export const idOfLacking = (fields: readonly FieldRef[]): string =>
  `CASE WHEN ${fields.map((field) => `${valueAt(field)} IS NULL`).join(' OR ')} THEN _id ELSE '' END`

const typeAt = (path: string): string => `json_type(document, ${pathOf(path)})`

const valueAt = ({ path, type }: FieldRef): string =>
  path === '_id' ? '_id' : `(${typed(type, typeAt(path), `json_extract(document, ${pathOf(path)})`)})`

/** The lowest value of each type. */
const LOWEST: { readonly [type in ComparableType]: string } = {
  string: "''",
  timestamp: "''",
  number: '-9e999',
  integer: '-9e999',
  boolean: '0',
}

/** The name of a new log. */
const NEW_NAME = 'lower(hex(randomblob(4)))'

/**
 * Writes are serial, so their number orders them. `dropped`: the place behind which changes are kept. `size`: the bytes of
 * what is kept, and between which places they were counted.
 */
const LOG_STRUCTURES: readonly string[] = [
  `CREATE TABLE ${quoteName(LOG)} (write INTEGER NOT NULL, id TEXT NOT NULL, collection TEXT NOT NULL, time INTEGER NOT NULL, before TEXT, after TEXT, PRIMARY KEY (write, id, collection))`,
  `CREATE TABLE ${quoteName(LOG_HEAD)} (log TEXT NOT NULL, dropped TEXT NOT NULL)`,
  `INSERT INTO ${quoteName(LOG_HEAD)} (log, dropped) VALUES (${NEW_NAME}, '[0,"",""]')`,
  // Logs of earlier versions lack it: their processes write on without.
  `ALTER TABLE ${quoteName(LOG)} ADD COLUMN caller TEXT`,
  `ALTER TABLE ${quoteName(LOG_HEAD)} ADD COLUMN size TEXT`,
]

const nativeLimit = (limit: number | null): number => limit ?? -1

/** SQLite's JSON functions. Text is compared by bytes, which in UTF-8 is the order of code points. */
export const sqliteDialect: SqlDialect = {
  parameter: () => '?',
  ownPlace: 'a file of its own (`file`)',
  table: (collection) => quoteName(tableNameOf(collection)),
  columns: { id: () => 'TEXT NOT NULL PRIMARY KEY', document: 'TEXT' },
  structures: { table: quoteName(STRUCTURES), order: 'rowid' },
  log: LOG_STRUCTURES,
  newLog: `UPDATE ${quoteName(LOG_HEAD)} SET log = ${NEW_NAME}`,
  stored: '_id, document',
  documentText: 'document',
  toDocument: (text) => text,
  // No other connection writes meanwhile; but a statement cannot pause.
  hold: { most: 1000, endings: { require: '', 'require state': '' } },
  toArray: (values) => `json_array(${values.join(', ')})`,
  storedVersion: valueAt({ path: '_version', type: 'integer', each: false }),
  value: valueAt,
  // With NOT NULL, SQLite would walk past all NULLs.
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
  entries: null,
  idOfLacking,
  // SQLite plans a statement again for each value of a parameter that is a limit by itself.
  limit: (skip, limit, bind) =>
    skip === 0 && limit === null ? '' : ` LIMIT ${bind(nativeLimit(limit))} + 0 OFFSET ${bind(skip)} + 0`,
}

/** The dialect for an index in which the `_id` is another expression. */
export function writeIdAs(id: string): SqlDialect {
  const value = (field: FieldRef): string => (field.path === '_id' ? id : valueAt(field))
  return {
    ...sqliteDialect,
    value,
    hasValue: (field, type) => `${value(field)} >= ${LOWEST[type]}`,
    order: (field, descending) => `${value(field)} ${descending ? 'DESC' : 'ASC'}`,
  }
}
