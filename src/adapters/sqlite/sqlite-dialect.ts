import type { ComparableType, FieldRef } from '../../core/filter/filter.js'
import { quoteName, type SqlDialect, STRUCTURES } from '../sql/dialect.js'
import { LOG, LOG_HEAD } from '../sql/log/recorder.js'
import { columnOf, createElements } from './elements.js'
import { tableNameOf } from './table-names.js'
import { elementsAt, isArray, typeAt, valueAt, valueOfElement } from './values.js'

/** The last key of a unique index. */
export const idOfLacking = (fields: readonly FieldRef[]): string =>
  `CASE WHEN ${fields.map((field) => `${valueAt(field)} IS NULL`).join(' OR ')} THEN _id ELSE '' END`

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
 * The statements that create the log. Writes are serial, so their number orders them. `dropped`: the key of the last
 * dropped change. `size`: the bytes of the log, and the keys between which they were counted.
 */
const LOG_STRUCTURES: readonly string[] = [
  `CREATE TABLE ${quoteName(LOG)} (write INTEGER NOT NULL, id TEXT NOT NULL, collection TEXT NOT NULL, time INTEGER NOT NULL, before TEXT, after TEXT, PRIMARY KEY (write, id, collection))`,
  `CREATE TABLE ${quoteName(LOG_HEAD)} (log TEXT NOT NULL, dropped TEXT NOT NULL)`,
  `INSERT INTO ${quoteName(LOG_HEAD)} (log, dropped) VALUES (${NEW_NAME}, '[0,"",""]')`,
  // Logs of earlier versions lack it; their processes keep writing without it.
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
  // With NOT NULL, SQLite would visit all NULLs.
  hasValue: (field, type) => `${valueAt(field)} >= ${LOWEST[type]}`,
  isPresent(path, kind) {
    const found = `coalesce(${typeAt(path)}, 'null')`
    return kind === 'any' ? `(${found} <> 'null')` : `(${found} = '${kind}')`
  },
  hasElement: (field, condition) =>
    `EXISTS (SELECT 1 FROM ${elementsAt(field.path)} WHERE ${isArray(field.path)} AND ${condition(valueOfElement(field))})`,
  // A search through one text could not pause.
  match: () => undefined,
  isOneOf: (value, values, bind) =>
    `${value} IN (SELECT value FROM json_each(${bind(JSON.stringify(values))}))`,
  order: (field, descending) => `${valueAt(field)} ${descending ? 'DESC' : 'ASC'}`,
  entries: null,
  idOfLacking,
  elements: createElements,
  // SQLite plans a statement again for each value of a parameter that alone is a limit.
  limit: (skip, limit, bind) =>
    skip === 0 && limit === null ? '' : ` LIMIT ${bind(nativeLimit(limit))} + 0 OFFSET ${bind(skip)} + 0`,
}

/** The dialect for an index in which some values are other expressions. */
function writeValues(value: (field: FieldRef) => string): SqlDialect {
  return {
    ...sqliteDialect,
    value,
    hasValue: (field, type) => `${value(field)} >= ${LOWEST[type]}`,
    order: (field, descending) => `${value(field)} ${descending ? 'DESC' : 'ASC'}`,
  }
}

/** The dialect for an index in which the `_id` is another expression. */
export const writeIdAs = (id: string): SqlDialect =>
  writeValues((field) => (field.path === '_id' ? id : valueAt(field)))

/** The dialect for a table of elements with these columns, joined with that of its documents. */
export const writeColumns = (columns: readonly FieldRef[]): SqlDialect =>
  writeValues((field) => columnOf(columns, field) ?? valueAt(field))

/**
 * The dialect for the bounds of a table of elements. A row has one element, so a condition on any element becomes one
 * on its column.
 */
export function writeBounds(columns: readonly FieldRef[]): SqlDialect {
  const dialect = writeColumns(columns)
  return {
    ...dialect,
    hasElement(field, condition) {
      const column = columnOf(columns, field)
      return column === undefined ? dialect.hasElement(field, condition) : condition(column)
    },
  }
}
