import type { Statement, Value } from '../../sql/dialect.js'
import { typeOf } from '../postgres-engine.js'

/** Selects a page as text. Only the rows of the page are converted: inside the sorted query, all rows would be. */
export const writeAll = (page: string): string => `SELECT document::text AS document FROM (${page}) AS page`

/**
 * Selects the documents of a page whose text has at most `most` bytes; the others are NULL. Documents stored in more
 * than `stored` bytes are not converted at all; the stored size may be a hundredth of the text's.
 */
export function writeSmall(page: Statement, most: number, stored = most): Statement {
  const [whole, kept] = [1, 2].map((place) => `$${page.values.length + place}::float8`)
  // OFFSET prevents PostgreSQL from computing the text twice.
  const written = `SELECT _id, CASE WHEN pg_column_size(document) <= ${kept} THEN document::text END AS document FROM (${page.text}) AS page OFFSET 0`
  return {
    text: `SELECT _id, CASE WHEN octet_length(document) <= ${whole} THEN document END AS document FROM (${written}) AS written`,
    values: [...page.values, most, stored],
  }
}

/** The JSON of a list of the texts in `document`, as texts. */
export const TEXTS = 'json_agg(document)::text'

/** The JSON of a list of the documents whose texts are in `document`. */
const LIST = `'[' || coalesce(string_agg(document, ','), '') || ']'`

/**
 * Selects a page as the JSON of one list, which is cheaper than rows. NULL if the text exceeds `bytes`, or if a
 * document exceeds `size`, stored or decompressed; such a document is not converted.
 */
export function writeList(page: string, bytes: string, size: string): string {
  // Joining a document with an empty one yields an uncompressed copy.
  const isSmall = `pg_column_size(document) <= ${size} AND pg_column_size('{}'::jsonb || document) <= ${size}`
  const written = `SELECT CASE WHEN ${isSmall} THEN document::text END AS document FROM (${page}) AS page OFFSET 0`
  const fits = `count(document) = count(*) AND coalesce(sum(octet_length(document)), 0) <= ${bytes}`
  return `SELECT CASE WHEN ${fits} THEN ${LIST} END AS documents FROM (${written}) AS written`
}

/** Selects one text per row of `asked`, whose columns are the parameters. */
export function writeJoined(text: string, values: readonly Value[]): string {
  const parameters = values.map((value, i) => `$${i + 1}::${typeOf(value)}[]`)
  const columns = values.map((_, i) => `v${i + 1}`)
  return `SELECT place, (${text}) AS documents FROM unnest(${parameters.join(', ')}) WITH ORDINALITY AS asked (${columns.join(', ')}, place)`
}

/**
 * Selects the first documents of a page as the JSON of one `list`: up to `bytes` of text, but at least one. The
 * second column lists the `_id`s of all others. Documents are converted row by row up to the limit; later rows never
 * are.
 */
export function writeFirst(page: string, bytes: string, list = LIST): string {
  const running = 'OVER (ROWS UNBOUNDED PRECEDING)'
  return `WITH page AS MATERIALIZED (${page}),
written AS MATERIALIZED (SELECT document::text AS document FROM page),
beyond AS MATERIALIZED (SELECT greatest(place - 1, 1) AS given FROM (SELECT row_number() ${running} AS place, sum(octet_length(document)) ${running} AS total FROM written) AS summed WHERE total > ${bytes} LIMIT 1)
SELECT (SELECT ${list} FROM (SELECT document FROM written LIMIT (SELECT given FROM beyond)) AS first) AS documents,
(SELECT json_agg(_id)::text FROM (SELECT _id FROM page OFFSET (SELECT given FROM beyond)) AS others WHERE EXISTS (SELECT FROM beyond)) AS rest`
}

/** Selects the documents of the ids in the first parameter, in their order. */
export const pageOfIds = (table: string): string =>
  `SELECT _id, document FROM unnest($1::text[]) WITH ORDINALITY AS wanted (id, place) JOIN ${table} AS stored ON _id = id ORDER BY place`
