import type { Statement } from '../../sql/dialect.js'

/** Selects a page as text. Only the rows of the page are converted: below a sort, all rows would be. */
export const writeAll = ({ text, values }: Statement): Statement => ({
  text: `SELECT document::text AS document FROM (${text}) AS page`,
  values,
})

/**
 * Selects the documents of a page whose text has at most `most` bytes; the others are NULL. A stored document
 * of more than `stored` bytes is not converted at all; stored size may be a hundredth of the text's.
 */
export function writeSmall(page: Statement, most: number, stored = most): Statement {
  const [whole, kept] = [1, 2].map((place) => `$${page.values.length + place}::float8`)
  // OFFSET prevents the text from being computed twice.
  const written = `SELECT _id, CASE WHEN pg_column_size(document) <= ${kept} THEN document::text END AS document FROM (${page.text}) AS page OFFSET 0`
  return {
    text: `SELECT _id, CASE WHEN octet_length(document) <= ${whole} THEN document END AS document FROM (${written}) AS written`,
    values: [...page.values, most, stored],
  }
}

/**
 * Selects the first documents of a page, up to `bytes` of text but at least one; then the `_id`s of all
 * others, as one row. The sum is computed row by row and stops at the limit: later documents are never
 * converted.
 */
export function writeFirst(page: Statement, bytes: number): Statement {
  const whole = `$${page.values.length + 1}::float8`
  const running = 'OVER (ROWS UNBOUNDED PRECEDING)'
  const isGiven = 'place = 1 OR place < coalesce((SELECT place FROM beyond), place + 1)'
  return {
    text: `WITH page AS MATERIALIZED (SELECT _id, document, row_number() ${running} AS place FROM (${page.text}) AS listed),
beyond AS MATERIALIZED (SELECT place FROM (SELECT place, sum(octet_length(document::text)) ${running} AS total FROM page) AS summed WHERE total > ${whole} LIMIT 1)
SELECT document::text AS document, NULL AS rest FROM page WHERE ${isGiven}
UNION ALL SELECT NULL, json_agg(_id)::text FROM page WHERE NOT (${isGiven})`,
    values: [...page.values, bytes],
  }
}

/** Selects the documents of these ids, in their order. */
export const pageOfIds = (table: string, ids: readonly string[]): Statement => ({
  text: `SELECT _id, document FROM unnest($1::text[]) WITH ORDINALITY AS wanted (id, place) JOIN ${table} ON _id = id ORDER BY place`,
  values: [ids],
})
