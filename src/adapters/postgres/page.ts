import type { Statement } from '../sql/dialect.js'

/** Text is made of what is on the page alone: a sort would make it of everything. */
export const writeAll = ({ text, values }: Statement): Statement => ({
  text: `SELECT document::text AS document FROM (${text}) AS page`,
  values,
})

/** A text is made only to see its size where what is stored has no more than this part of what the text may have. */
const LIKELY = 1 / 16

/** Stored bytes below which hardly a document lies. */
const SMALLEST = 200

/**
 * A page of at most `most` documents, each of which may have its share of `bytes`: NULL where its text has more. It costs
 * hardly more than the page itself; `undefined` where shares are too small for a document.
 */
export function writeSmall(page: Statement, bytes: number, most: number): Statement | undefined {
  const share = Math.floor(bytes / most)
  if (share * LIKELY < SMALLEST) return undefined
  const [stored, whole] = [1, 2].map((place) => `$${page.values.length + place}::float8`)
  // OFFSET keeps the text from being made twice.
  const written = `SELECT CASE WHEN pg_column_size(document) <= ${stored} THEN document::text END AS document FROM (${page.text}) AS page OFFSET 0`
  return {
    text: `SELECT CASE WHEN octet_length(document) <= ${whole} THEN document END AS document FROM (${written}) AS written`,
    values: [...page.values, share * LIKELY, share],
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
