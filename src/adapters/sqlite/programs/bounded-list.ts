import type { ListQuery } from '../../../core/storage.js'
import { type FilteredStatement, writeOrder } from '../../sql/statements.js'
import { programEngine } from './program-engine.js'

const { dialect, statements } = programEngine

/** The bounds of a page of documents. */
interface PageBounds {
  /** The maximum number of bytes of all texts, as SQL. The first text may be longer. */
  readonly bytes: string
  /** The expression that is selected for each document beyond `bytes`: JSON that is not an object. */
  readonly rest: string
}

/**
 * Selects the texts of documents until they exceed the bytes, and `rest` of each further document. `page` selects the
 * columns `_id` and `document`, and those of `order`.
 */
export function boundPage(page: string, order: string, { bytes, rest }: PageBounds): string {
  const columns =
    '_id, document, row_number() OVER page AS place, sum(octet_length(document)) OVER page AS total'
  const counted = `SELECT ${columns} FROM (${page}) WINDOW page AS (${order} ROWS UNBOUNDED PRECEDING)`
  // Without its name, D1 would repeat the expression in each row.
  return `SELECT iif(place = 1 OR total <= ${bytes}, document, ${rest}) AS item FROM (${counted}) ORDER BY place`
}

/** Selects a list whose texts have a maximum number of bytes. */
export function boundedList(
  collection: string,
  { filter, sort, skip, limit, bytes = Number.MAX_SAFE_INTEGER }: ListQuery,
  rest = 'json_quote(_id)',
): FilteredStatement {
  const order = writeOrder(dialect, sort)
  return statements.select(collection, filter, {}, (from, bind) => {
    const page = `SELECT _id, document ${from}${order}${dialect.limit(skip, limit, bind)}`
    return boundPage(page, order, { bytes: bind(bytes), rest })
  })
}

/** Divides the rows of a bounded list into the texts of documents, and the JSON of further ones. */
export function splitPage(rows: readonly unknown[]) {
  const texts: string[] = []
  const rest: string[] = []
  for (const row of rows.map(String)) (row.startsWith('{') ? texts : rest).push(row)
  return { texts, rest }
}
