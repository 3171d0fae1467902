import { createHash } from 'node:crypto'
import { type FieldRef, isOn } from '../../core/filter/filter.js'
import { type ElementsIndex, quoteName } from '../sql/dialect.js'
import { columnTypeOf, elementsAt, jsonAt, quoteText, valueAt, valueOfElement } from './values.js'

/**
 * The column of a table of elements that contains the `_id` of the document. It has another name than `_id`, so that
 * it is unambiguous in a join with the documents.
 */
export const ENTRY_ID = 'id'

const columnAt = (place: number): string => `c${place}`

/**
 * Returns the name of the column for a field in a table of elements, or `undefined` if there is none. `columns` are
 * the fields of the table.
 */
export function columnOf(columns: readonly FieldRef[], field: FieldRef): string | undefined {
  if (field.path === '_id') return ENTRY_ID
  const place = columns.findIndex((column) => isOn(field, column))
  return place < 0 ? undefined : columnAt(place)
}

/** The statements that create, fill and drop a table of elements. */
export interface ElementsSql {
  /** Creates the table and its triggers. Until the transaction ends, writes to the documents wait. */
  readonly create: readonly string[]
  /** Adds the entries of all documents. It must run in the transaction of `create`. */
  readonly fill: string
  /**
   * Adds the entries of some documents, which the caller has locked. The first parameter is the list of their `_id`s.
   */
  readonly fillSome: string
  /** Drops what `create` creates. */
  readonly drop: readonly string[]
}

/** Builds the SQL condition that a name is the name of a table of elements. `name` is an SQL expression. */
export const isNamedElements = (name: string): string => `starts_with(${name}, '_elements_')`

/** The number of triggers of a table of elements. */
export const TRIGGERS = 3

/**
 * Returns the part of a trigger's name that identifies its schema. Triggers with another mark were created before the
 * schema was renamed, so their function does not find its tables.
 */
export const markOf = (schema: string): string =>
  createHash('sha256').update(schema).digest('hex').slice(0, 8)

/**
 * Builds the statements of a table with one entry per document and distinct element of its array. Triggers keep the
 * table up to date when any process writes. Their function runs with the rights of its owner, like the triggers of
 * foreign keys. The function sets `search_path`, so that a session cannot change which tables and functions it uses.
 * `documents` is the quoted table of the documents.
 */
export function createElements(
  schema: string,
  documents: string,
  { name, fields }: Omit<ElementsIndex, 'collection'>,
): ElementsSql {
  const inSchema = (name: string): string => `${quoteName(schema)}.${quoteName(name)}`
  const [table, call] = [inSchema(name), `${inSchema(name)}()`]
  const names = fields.map((_, place) => columnAt(place))
  const array = fields.find(({ each }) => each)
  const element = array ? valueOfElement(array) : 'NULL'

  /**
   * Builds the part after the word SELECT of a query that returns the entries of documents. `row` is the name of the
   * row with the document.
   */
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
  // An update only deletes and inserts the entries that differ.
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
