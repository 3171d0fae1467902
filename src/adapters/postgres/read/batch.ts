import { bounds } from '../../../core/bounds.js'
import type { Statement } from '../../sql/dialect.js'
import type { RunStatement } from '../connection/session.js'
import { pageOfIds, writeFirst } from './page.js'

/** The number of documents in one batch. */
export const BATCH = 500

/**
 * Builds the statement that selects the documents of a page. A document is NULL if its text has more than `most` bytes.
 * A document that takes more than `stored` bytes in the table is not even converted to text. Because of compression,
 * its text may have a hundred times as many bytes.
 */
export function writeSmall(page: Statement, most: number, stored = most): Statement {
  const [whole, kept] = [1, 2].map((place) => `$${page.values.length + place}::float8`)
  // OFFSET 0 prevents PostgreSQL from computing the text twice.
  const written = `SELECT _id, CASE WHEN pg_column_size(document) <= ${kept} THEN document::text END AS document FROM (${page.text}) AS page OFFSET 0`
  return {
    text: `SELECT _id, CASE WHEN octet_length(document) <= ${whole} THEN document END AS document FROM (${written}) AS written`,
    values: [...page.values, most, stored],
  }
}

/** An expression for a JSON list of strings: the texts in the column `document`. */
const TEXTS = 'json_agg(document)::text'

/**
 * Reads the JSON texts of all documents of a page, in order and in batches. The caller runs it in a transaction with
 * one snapshot.
 */
export async function* readTexts(
  run: RunStatement,
  table: string,
  page: Statement,
): AsyncGenerator<readonly string[], void, undefined> {
  // A document that could make a batch too large is NULL.
  const { text, values } = writeSmall(page, Math.floor(bounds.batchBytes / BATCH))
  await run(`DECLARE found NO SCROLL CURSOR FOR ${text}`, values)
  for (;;) {
    const { rows } = await run(`FETCH ${BATCH} FROM found`)
    const large = rows.flatMap(({ _id, document }) => (document === null ? [String(_id)] : []))
    const written: string[] = []
    let texts: string[] = []
    for (const { document } of rows) {
      if (document === null && written.length === 0) {
        if (texts.length > 0) yield texts
        texts = []
        const [first] = (
          await run(writeFirst(pageOfIds(table), '$2::float8', TEXTS), [large, bounds.batchBytes])
        ).rows
        written.push(...(JSON.parse(String(first?.documents)) as readonly string[]))
        large.splice(0, written.length)
      }
      texts.push(typeof document === 'string' ? document : (written.shift() ?? ''))
    }
    if (texts.length > 0) yield texts
    if (rows.length < BATCH) return
  }
}
