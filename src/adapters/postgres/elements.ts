import { createHash } from 'node:crypto'
import type { FieldRef } from '../../core/filter/filter.js'
import { type ElementsIndex, quoteName } from '../sql/dialect.js'
import { columnTypeOf, elementsAt, jsonAt, quoteText, valueAt, valueOfElement } from './values.js'

/** The column of the `_id` in a table of elements. It differs from that of the documents with which it is joined. */
export const ENTRY_ID = 'id'

const columnAt = (place: number): string => `c${place}`

/** The column of a field in a table of elements with these columns; `undefined` if it has none. */
export function columnOf(columns: readonly FieldRef[], field: FieldRef): string | undefined {
  if (field.path === '_id') return ENTRY_ID
  const place = columns.findIndex(
    ({ path, type, each, inside }) =>
      path === field.path && type === field.type && each === field.each && inside === field.inside,
  )
  return place < 0 ? undefined : columnAt(place)
}

/** The statements of a table of elements. */
export interface ElementsSql {
  /** Creates the table and its triggers. Writes to the documents wait meanwhile. */
  readonly create: readonly string[]
  /** Adds the entries of all documents, in the transaction of `create`. */
  readonly fill: string
  /** Adds the entries of the documents whose `_id`s are the first parameter. The caller has locked these documents. */
  readonly fillSome: string
  /** Drops what `create` creates. */
  readonly drop: readonly string[]
}

/** Whether a name is that of a table of elements. */
export const isNamedElements = (name: string): string => `starts_with(${name}, '_elements_')`

/** The number of triggers of a table of elements. */
export const TRIGGERS = 3

/**
 * The part of a trigger's name that identifies the schema: triggers with another mark call the function of a schema
 * that was renamed.
 */
export const markOf = (schema: string): string =>
  createHash('sha256').update(schema).digest('hex').slice(0, 8)

/**
 * Writes the statements of a table with one entry per document and distinct element of its array. Triggers keep it up
 * to date with every write of every process. Like the triggers of foreign keys, their function runs with the rights
 * of its owner; it fixes `search_path`, so that a session cannot change the meaning of its names.
 */
export function createElements(schema: string, { name, collection, fields }: ElementsIndex): ElementsSql {
  const inSchema = (name: string): string => `${quoteName(schema)}.${quoteName(name)}`
  const [table, documents, call] = [inSchema(name), inSchema(collection), `${inSchema(name)}()`]
  const names = fields.map((_, place) => columnAt(place))
  const array = fields.find(({ each }) => each)
  const element = array ? valueOfElement(array) : 'NULL'

  /** The entries of documents. */
  const entriesOf = (from: string, row: string, more = ''): string => {
    const values = fields.map((field) => (field.each ? element : valueAt(field, `${row}.document`)))
    const elements = elementsAt(array?.path ?? '', `${row}.document`)
    return `${[...values, `${row}._id`].join(', ')} FROM ${from}${elements} WHERE ${element} IS NOT NULL${more}`
  }
  const columns = [...names, ENTRY_ID]
  const insert = `INSERT INTO ${table} (${columns.join(', ')})`
  const isNew = `EXCEPT SELECT ${columns.join(', ')} FROM ${table} WHERE ${ENTRY_ID}`
  const ofNew = entriesOf('', 'NEW')
  const isSame = columns.map((column) => `entry.${column} IS NOT DISTINCT FROM given.${column}`).join(' AND ')
  const differs = [
    'OLD._id IS DISTINCT FROM NEW._id',
    ...fields.map(
      ({ path }) => `(${jsonAt(path, 'OLD.document')}) IS DISTINCT FROM (${jsonAt(path, 'NEW.document')})`,
    ),
  ]
  // Unchanged values are not written again.
  const body = [
    `BEGIN IF TG_OP = 'TRUNCATE' THEN DELETE FROM ${table}`,
    `ELSIF TG_OP = 'INSERT' THEN ${insert} SELECT DISTINCT ${ofNew}`,
    `ELSIF TG_OP = 'DELETE' THEN DELETE FROM ${table} WHERE ${ENTRY_ID} = OLD._id`,
    `ELSE DELETE FROM ${table} AS entry WHERE ${ENTRY_ID} = OLD._id AND NOT EXISTS (SELECT FROM (SELECT ${ofNew}) AS given (${columns.join(', ')}) WHERE ${isSame})`,
    `${insert} SELECT ${ofNew} ${isNew} = NEW._id`,
    'END IF',
    'RETURN NULL',
    'END',
  ].join('; ')
  const trigger = (kind: string, rest: string): string =>
    `CREATE TRIGGER ${quoteName(`${name}_${markOf(schema)}_${kind}`)} AFTER ${rest} EXECUTE FUNCTION ${call}`
  const typed = fields.map(
    ({ type, each }, place) => `${columnAt(place)} ${columnTypeOf(type)}${each ? ' NOT NULL' : ''}`,
  )
  const stored = `${documents} AS stored, `
  const order = names.map((column) => `${column} NULLS FIRST`)
  return {
    create: [
      `CREATE TABLE ${table} (${typed.join(', ')}, ${ENTRY_ID} text COLLATE "C" NOT NULL)`,
      `CREATE INDEX ${quoteName(`${name}_order`)} ON ${table} (${[...order, ENTRY_ID].join(', ')})`,
      `CREATE INDEX ${quoteName(`${name}_id`)} ON ${table} (${ENTRY_ID})`,
      `CREATE FUNCTION ${call} RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS ${quoteText(body)}`,
      `REVOKE ALL ON FUNCTION ${call} FROM PUBLIC`,
      trigger('row', `INSERT OR DELETE ON ${documents} FOR EACH ROW`),
      trigger('update', `UPDATE ON ${documents} FOR EACH ROW WHEN (${differs.join(' OR ')})`),
      trigger('truncate', `TRUNCATE ON ${documents} FOR EACH STATEMENT`),
    ],
    fill: `${insert} SELECT DISTINCT ${entriesOf(stored, 'stored')}`,
    fillSome: `${insert} SELECT ${entriesOf(stored, 'stored', ' AND stored._id = ANY($1::text[])')} ${isNew} = ANY($1::text[])`,
    drop: [`DROP FUNCTION IF EXISTS ${call} CASCADE`, `DROP TABLE IF EXISTS ${table}`],
  }
}
