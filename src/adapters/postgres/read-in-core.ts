import type { Filter } from '../../filter/filter.js'
import { compileJudge, type Judge } from '../../filter/matches.js'
import { runSliced, type Slice, type Sliced } from '../../slices.js'
import type { StoredDocument } from '../../storage.js'
import type { Statement } from '../sql/dialect.js'
import type { RunStatement } from './connections.js'
import { pageOfIds, writeFirst } from './page.js'
import { parseDocument } from './parse-documents.js'
import { inTransaction } from './transaction.js'

/** Ids that are fetched at once. */
const BATCH = 500

/** Bytes of text that are fetched at once, where one document does not have more. */
export const BATCH_BYTES = 2 ** 20

/** What is read where a statement lets more through than its filter. */
export interface CoreReading {
  readonly table: string
  /** All that may match, in order. */
  readonly page: Statement
  readonly filter: Filter
  readonly signal: AbortSignal | undefined
}

/** Gets what matches, in order, with the size of its text, and says whether to go on. */
export type Take = (document: StoredDocument, size: number) => boolean

/**
 * Reads where a statement lets more through than its filter: the rest is left out here, in slices, as the documents were
 * at one moment and in memory that does not grow with them.
 */
export const readInCore = (
  run: RunStatement,
  { table, page, filter, signal }: CoreReading,
  take: Take,
): Promise<void> =>
  inTransaction(
    run,
    'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
    async () => {
      const judge = compileJudge(filter)
      const ids = `SELECT _id FROM (${page.text}) AS page`
      await run(`DECLARE found NO SCROLL CURSOR FOR ${ids}`, page.values)
      for (;;) {
        const fetched = (await run(`FETCH ${BATCH} FROM found`)).rows.map(({ _id }) => String(_id))
        for (let rest = fetched; rest.length > 0; ) {
          signal?.throwIfAborted()
          const some = writeFirst(pageOfIds(table, rest), BATCH_BYTES)
          const { rows } = await run(some.text, some.values)
          const texts = rows.flatMap(({ document }) => (typeof document === 'string' ? [document] : []))
          const goesOn = await runSliced(
            (slice) => judgeTexts(texts, judge, take, slice),
            () => signal,
          )
          if (!goesOn) return
          rest = JSON.parse(String(rows.at(-1)?.rest ?? '[]')) as string[]
        }
        if (fetched.length < BATCH) return
      }
    },
    () => false,
  )

function* judgeTexts(texts: readonly string[], judge: Judge, take: Take, slice: Slice): Sliced<boolean> {
  for (const text of texts) {
    const document = parseDocument(text, slice)
    if (slice.left <= 0) yield
    let answer = judge(document, slice)
    while (answer === undefined) {
      yield
      answer = judge(document, slice)
    }
    if (answer && !take(document, text.length)) return false
  }
  return true
}
