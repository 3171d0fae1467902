import type { ComparableType, FieldRef } from '../../core/filter/filter.js'
import { quoteName, type SqlDialect, STRUCTURES } from '../sql/dialect.js'
import { LOG, LOG_HEAD } from '../sql/log/recorder.js'
import { tableNameOf } from '../sql/table-names.js'
import { columnOf, createElements } from './elements.js'
import { elementsAt, isArray, typeAt, valueAt, valueOfElement } from './values.js'

/**
 * Returns the last expression of a unique index: the `_id` if a field is missing, so that documents without the field
 * do not conflict.
 */
export const idOfLacking = (fields: readonly FieldRef[], value = valueAt): string =>
  `CASE WHEN ${fields.map((field) => `${value(field)} IS NULL`).join(' OR ')} THEN _id ELSE '' END`

/** Returns the condition that an element of an array satisfies a condition on the `json_each` row `element`. */
export const hasElement = ({ path }: FieldRef, condition: string): string =>
  `EXISTS (SELECT 1 FROM ${elementsAt(path)} WHERE ${isArray(path)} AND ${condition})`

/** The lowest value of each type. */
const LOWEST: { readonly [type in ComparableType]: string } = {
  string: "''",
  timestamp: "''",
  number: '-9e999',
  integer: '-9e999',
  boolean: '0',
}

/** A random name for a new log. */
const NEW_NAME = 'lower(hex(randomblob(4)))'

/**
 * The statements that create the log. Only one write runs at a time, so the number of a write gives its order.
 * `dropped` is the key of the last dropped change. `size` is the size of the log in bytes, with the bounds between
 * which it was measured.
 */
const LOG_STRUCTURES: readonly string[] = [
  `CREATE TABLE ${quoteName(LOG)} (write INTEGER NOT NULL, id TEXT NOT NULL, collection TEXT NOT NULL, time INTEGER NOT NULL, before TEXT, after TEXT, PRIMARY KEY (write, id, collection))`,
  `CREATE TABLE ${quoteName(LOG_HEAD)} (log TEXT NOT NULL, dropped TEXT NOT NULL)`,
  `INSERT INTO ${quoteName(LOG_HEAD)} (log, dropped) VALUES (${NEW_NAME}, '[0,"",""]')`,
  // Logs of earlier versions lack this column, and processes of these versions continue to write without it.
  `ALTER TABLE ${quoteName(LOG)} ADD COLUMN caller TEXT`,
  `ALTER TABLE ${quoteName(LOG_HEAD)} ADD COLUMN size TEXT`,
  `ALTER TABLE ${quoteName(LOG)} ADD COLUMN migration INTEGER`,
]

/**
 * The dialect of SQLite and its JSON functions. Strings are compared by bytes, which in UTF-8 is the order of code
 * points.
 */
export const sqliteDialect: SqlDialect = {
  parameter: () => '?',
  ownPlace: 'a file of its own (`file`)',
  table: (collection) => quoteName(tableNameOf(collection)),
  ownTable: quoteName,
  columns: { id: () => 'TEXT NOT NULL PRIMARY KEY', document: 'TEXT' },
  structures: { table: quoteName(STRUCTURES), order: 'rowid', owner: () => 'collection' },
  log: LOG_STRUCTURES,
  newLog: `UPDATE ${quoteName(LOG_HEAD)} SET log = ${NEW_NAME}`,
  documentText: 'document',
  toDocument: (text) => text,
  // No lock is needed, because no other connection can write during the transaction. `most` limits the number of
  // documents, because a statement cannot pause.
  hold: { most: 1000, endings: { require: '', 'require state': '' } },
  toArray: (values) => `json_array(${values.join(', ')})`,
  storedVersion: valueAt({ path: '_version', type: 'integer', each: false }),
  value: valueAt,
  // This comparison replaces IS NOT NULL, with which SQLite would visit all NULLs in the index.
  hasValue: (field, type) => `${valueAt(field)} >= ${LOWEST[type]}`,
  isPresent(path, kind) {
    const found = `coalesce(${typeAt(path)}, 'null')`
    return kind === 'any' ? `(${found} <> 'null')` : `(${found} = '${kind}')`
  },
  hasElement: (field, condition) => hasElement(field, condition(valueOfElement(field))),
  // Patterns are never evaluated in SQL, because a search through one long string could not pause.
  match: () => undefined,
  isOneOf: (value, values, bind) =>
    `${value} IN (SELECT value FROM json_each(${bind(JSON.stringify(values))}))`,
  order: (field, descending) => `${valueAt(field)} ${descending ? 'DESC' : 'ASC'}`,
  entries: null,
  idOfLacking: (fields) => idOfLacking(fields),
  elements: createElements,
  // `+ 0` is added, because if a parameter alone is the limit, SQLite plans the statement again for each of its values.
  limit: (skip, limit, bind) =>
    skip === 0 && limit === null ? '' : ` LIMIT ${bind(limit ?? -1)} + 0 OFFSET ${bind(skip)} + 0`,
}

/** Returns the dialect for an index in which some fields are stored as other expressions. */
export function writeValues(value: (field: FieldRef) => string): SqlDialect {
  return {
    ...sqliteDialect,
    value,
    hasValue: (field, type) => `${value(field)} >= ${LOWEST[type]}`,
    order: (field, descending) => `${value(field)} ${descending ? 'DESC' : 'ASC'}`,
  }
}

/** Returns the dialect for an index in which the `_id` is stored as another expression. */
export const writeIdAs = (id: string): SqlDialect =>
  writeValues((field) => (field.path === '_id' ? id : valueAt(field)))

/**
 * Returns the dialect for a table of array elements that has these columns and is joined with the table of its
 * documents.
 */
export const writeColumns = (columns: readonly FieldRef[]): SqlDialect =>
  writeValues((field) => columnOf(columns, field) ?? valueAt(field))
