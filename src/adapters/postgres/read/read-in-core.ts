import type { Filter } from '../../../filter/filter.js'
import { compileJudge, type Judge } from '../../../filter/matches.js'
import { runSliced, type Slice, type Sliced } from '../../../slices.js'
import type { StoredDocument } from '../../../storage.js'
import type { Statement } from '../../sql/dialect.js'
import type { RunStatement } from '../connection/connections.js'
import { inTransaction } from '../connection/transaction.js'
import { readTexts } from './batch.js'
import { parseDocument } from './parse-documents.js'

/** What is read where a statement lets more through than its filter. */
export interface CoreReading {
  readonly table: string
  /** All that may match, in order. */
  readonly page: Statement
  readonly filter: Filter
  readonly signal: AbortSignal | undefined
}

/** Gets what matches, in order, with the bytes of its text, and says whether to go on. */
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
      for await (const texts of readTexts(run, table, page)) {
        signal?.throwIfAborted()
        const goesOn = await runSliced(
          (slice) => judgeTexts(texts, judge, take, slice),
          () => signal,
        )
        if (!goesOn) return
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
    if (answer && !take(document, Buffer.byteLength(text))) return false
  }
  return true
}
