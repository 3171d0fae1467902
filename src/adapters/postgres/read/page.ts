import type { Value } from '../../sql/dialect.js'
import { typeOf } from '../postgres-engine.js'

/**
 * Builds the statement that selects a page as JSON texts. The query of the page is a subquery, so that only its rows
 * are converted to text. A conversion in the sorted query itself would convert all rows.
 */
export const writeAll = (page: string): string => `SELECT document::text AS document FROM (${page}) AS page`

/** An expression for a JSON list of documents, whose texts are in the column `document`. */
const LIST = `'[' || coalesce(string_agg(document, ','), '') || ']'`

/**
 * Builds the statement that selects a page as one JSON list, which is cheaper than one row per document. The list is
 * NULL if its text exceeds `bytes`, or if a document exceeds `size` as it is stored or decompressed. Such a document is
 * not converted to text.
 */
export function writeList(page: string, bytes: string, size: string): string {
  // Concatenating a document with an empty object yields an uncompressed copy.
  const isSmall = `pg_column_size(document) <= ${size} AND pg_column_size('{}'::jsonb || document) <= ${size}`
  const written = `SELECT CASE WHEN ${isSmall} THEN document::text END AS document FROM (${page}) AS page OFFSET 0`
  const fits = `count(document) = count(*) AND coalesce(sum(octet_length(document)), 0) <= ${bytes}`
  return `SELECT CASE WHEN ${fits} THEN ${LIST} END AS documents FROM (${written}) AS written`
}

/**
 * Names one of several columns with lists. A pool of the host application returns rows as objects, in which columns of
 * the same name replace each other.
 */
export const nameList = (column: string, place: number): string => `${column} AS list${place}`

/**
 * Builds the statement that runs the subquery `text` once for each row of `asked`. The columns of `asked` take the role
 * of the parameters in `text`.
 */
export function writeJoined(text: string, values: readonly Value[]): string {
  const parameters = values.map((value, i) => `$${i + 1}::${typeOf(value)}[]`)
  const columns = values.map((_, i) => `v${i + 1}`)
  return `SELECT place, (${text}) AS documents FROM unnest(${parameters.join(', ')}) WITH ORDINALITY AS asked (${columns.join(', ')}, place)`
}

/**
 * Builds the statement that selects the first documents of a page as one JSON list: as many as fit into `bytes` of
 * text, but at least one. The second column is a JSON list of the `_id`s of the other documents. Documents are
 * converted to text one by one, and only until the byte limit is exceeded.
 */
export function writeFirst(page: string, bytes: string, list = LIST): string {
  const running = 'OVER (ROWS UNBOUNDED PRECEDING)'
  return `WITH page AS MATERIALIZED (${page}),
written AS MATERIALIZED (SELECT document::text AS document FROM page),
beyond AS MATERIALIZED (SELECT greatest(place - 1, 1) AS given FROM (SELECT row_number() ${running} AS place, sum(octet_length(document)) ${running} AS total FROM written) AS summed WHERE total > ${bytes} LIMIT 1)
SELECT (SELECT ${list} FROM (SELECT document FROM written LIMIT (SELECT given FROM beyond)) AS first) AS documents,
(SELECT json_agg(_id)::text FROM (SELECT _id FROM page OFFSET (SELECT given FROM beyond)) AS others WHERE EXISTS (SELECT FROM beyond)) AS rest`
}

/** Builds the statement that selects the documents with the ids in the first parameter, in the order of these ids. */
export const pageOfIds = (table: string): string =>
  `SELECT _id, document FROM unnest($1::text[]) WITH ORDINALITY AS wanted (id, place) JOIN ${table} AS stored ON _id = id ORDER BY place`
