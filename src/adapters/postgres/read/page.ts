import type { Statement } from '../../sql/dialect.js'

/** Text is made of what is on the page alone: a sort would make it of everything. */
export const writeAll = ({ text, values }: Statement): Statement => ({
  text: `SELECT document::text AS document FROM (${text}) AS page`,
  values,
})

/**
 * The documents of a page whose text has no more than `most` bytes; the others are NULL. Text is made, to see its size,
 * of what has no more than `stored` bytes where it is stored, which may be a hundredth of its text.
 */
export function writeSmall(page: Statement, most: number, stored = most): Statement {
  const [whole, kept] = [1, 2].map((place) => `$${page.values.length + place}::float8`)
  // OFFSET keeps the text from being made twice.
  const written = `SELECT _id, CASE WHEN pg_column_size(document) <= ${kept} THEN document::text END AS document FROM (${page.text}) AS page OFFSET 0`
  return {
    text: `SELECT _id, CASE WHEN octet_length(document) <= ${whole} THEN document END AS document FROM (${written}) AS written`,
    values: [...page.values, most, stored],
  }
}

/**
 * The first documents of a page, as far as their text has `bytes`, but always one; then the `_id`s of all others, as one
 * row. The sum is made row by row and ends where it is too much: what lies beyond is never written.
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

/** The documents of these ids, in their order. */
export const pageOfIds = (table: string, ids: readonly string[]): Statement => ({
  text: `SELECT _id, document FROM unnest($1::text[]) WITH ORDINALITY AS wanted (id, place) JOIN ${table} ON _id = id ORDER BY place`,
  values: [ids],
})
