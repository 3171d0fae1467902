import { type FieldRef, ID } from '../../core/filter/filter.js'
import { type ElementsIndex, quoteName } from '../sql/dialect.js'
import { tableNameOf } from './table-names.js'
import { elementsAt, isArray, pathOf, valueAt, valueOfElement } from './values.js'

/** The name of the index of a table of elements that has the order of its columns. */
export const indexNameOf = (table: string): string => `${table}_order`

const columnAt = (place: number): string => `c${place}`

/** The column of a field in a table of elements with these columns; `undefined` if it has none. */
export function columnOf(columns: readonly FieldRef[], field: FieldRef): string | undefined {
  const place = columns.findIndex(
    ({ path, type, each, inside }) =>
      path === field.path && type === field.type && each === field.each && inside === field.inside,
  )
  return place < 0 ? undefined : columnAt(place)
}

/**
 * The statements of a table with one row per document and distinct element of its array. Its key begins with the
 * document, to find the rows of one document; the index has the order for reads. The triggers fire for the writes of
 * all processes.
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
  // A trigger of this name exists if the table was dropped without it.
  const trigger = (kind: string, when: string, ...statements: readonly string[]): string =>
    `CREATE TRIGGER IF NOT EXISTS ${quoteName(`${name}_${kind}`)} AFTER ${kind} ON ${documents}${when} BEGIN ${statements.join('; ')}; END`
  return [
    `CREATE TABLE ${table} (${names.slice(0, -1).join(', ')}, ${id} TEXT NOT NULL, PRIMARY KEY (${id}, ${element})) WITHOUT ROWID`,
    `INSERT OR IGNORE INTO ${table} ${rowsOf(values, documents)} ORDER BY ${fields.length + 1}, ${place + 1}`,
    `CREATE INDEX ${quoteName(indexNameOf(name))} ON ${table} (${names.join(', ')})`,
    // A manual INSERT OR REPLACE fires no trigger for the rows that it deletes.
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
