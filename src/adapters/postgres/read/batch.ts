import { bounds } from '../../../core/bounds.js'
import type { Statement } from '../../sql/dialect.js'
import type { RunStatement } from '../connection/session.js'
import { pageOfIds, TEXTS, writeFirst, writeSmall } from './page.js'

/** The number of documents in one batch. */
export const BATCH = 500

/**
 * Builds the statement that selects a page to read in batches. A document that could make a batch too large is NULL.
 */
export const writeBatch = (page: Statement): Statement =>
  writeSmall(page, Math.floor(bounds.batchBytes / BATCH))

/**
 * Reads the JSON texts of all documents of a page, in order and in batches. The caller runs it in a transaction with
 * one snapshot.
 */
export async function* readTexts(
  run: RunStatement,
  table: string,
  page: Statement,
): AsyncGenerator<readonly string[], void, undefined> {
  const { text, values } = writeBatch(page)
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
