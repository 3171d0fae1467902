import { type FieldRef, ID, isOn } from '../../core/filter/filter.js'
import { type ElementsIndex, quoteName } from '../sql/dialect.js'
import { tableNameOf } from '../sql/table-names.js'
import { elementsAt, isArray, pathOf, valueAt, valueOfElement } from './values.js'

/** Returns the name of the index over all columns of a table of array elements. */
export const indexNameOf = (table: string): string => `${table}_order`

const columnAt = (place: number): string => `c${place}`

/**
 * Returns the name of the column that contains a field in a table of array elements, or `undefined` if there is none.
 */
export function columnOf(columns: readonly FieldRef[], field: FieldRef): string | undefined {
  const place = columns.findIndex((column) => isOn(field, column))
  return place < 0 ? undefined : columnAt(place)
}

/**
 * Returns the statements that create a table with one row for each document and distinct element of its array. The
 * primary key begins with the document's id, so that the rows of a document are found quickly. The index has the order
 * that reads need. Triggers keep the table up to date, also when other processes write.
 */
export function createElements({ name, collection, fields }: ElementsIndex): readonly string[] {
  const [table, documents] = [quoteName(name), quoteName(tableNameOf(collection))]
  const columns = [...fields, ID]
  const names = columns.map((_, place) => columnAt(place))
  const place = fields.findIndex(({ each }) => each)
  const array = fields[place] ?? ID
  const [element, id] = [columnAt(place), columnAt(fields.length)]

  const rowsOf = (values: string, from: string): string =>
    `SELECT ${values} FROM ${from}, ${elementsAt(array.path)} WHERE ${isArray(array.path)} AND ${valueOfElement(array)} IS NOT NULL`
  const values = columns.map((field) => (field.each ? valueOfElement(field) : valueAt(field))).join(', ')
  const written = '(SELECT NEW._id AS _id, NEW.document AS document)'

  const others = names.filter((one) => one !== id && one !== element)
  const update =
    others.length === 0
      ? 'NOTHING'
      : `UPDATE SET ${others.map((one) => `${one} = excluded.${one}`).join(', ')} WHERE ${others.map((one) => `${one} IS NOT excluded.${one}`).join(' OR ')}`
  const add = `INSERT INTO ${table} ${rowsOf(values, written)} ON CONFLICT (${id}, ${element}) DO ${update}`
  const elements = rowsOf(valueOfElement(array), written)
  const differs = fields
    .map(({ path }) => `(OLD.document -> ${pathOf(path)}) IS NOT (NEW.document -> ${pathOf(path)})`)
    .join(' OR ')
  // The trigger may already exist if only the table was dropped.
  const trigger = (kind: string, when: string, ...statements: readonly string[]): string =>
    `CREATE TRIGGER IF NOT EXISTS ${quoteName(`${name}_${kind}`)} AFTER ${kind} ON ${documents}${when} BEGIN ${statements.join('; ')}; END`
  return [
    `CREATE TABLE ${table} (${names.slice(0, -1).join(', ')}, ${id} TEXT NOT NULL, PRIMARY KEY (${id}, ${element})) WITHOUT ROWID`,
    `INSERT OR IGNORE INTO ${table} ${rowsOf(values, documents)} ORDER BY ${fields.length + 1}, ${place + 1}`,
    `CREATE INDEX ${quoteName(indexNameOf(name))} ON ${table} (${names.join(', ')})`,
    // An INSERT OR REPLACE by an administrator fires no DELETE trigger for the rows that it replaces.
    trigger('INSERT', '', `DELETE FROM ${table} WHERE ${id} = NEW._id`, add),
    trigger(
      'UPDATE',
      ` WHEN OLD._id IS NOT NEW._id OR ${differs}`,
      `DELETE FROM ${table} WHERE ${id} = OLD._id AND (OLD._id IS NOT NEW._id OR ${element} NOT IN (${elements}))`,
      add,
    ),
    trigger('DELETE', '', `DELETE FROM ${table} WHERE ${id} = OLD._id`),
  ]
}
