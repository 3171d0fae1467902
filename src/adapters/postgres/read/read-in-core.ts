import type { Filter } from '../../../filter/filter.js'
import { compileJudge } from '../../../filter/matches.js'
import { runSliced } from '../../../slices.js'
import type { Statement } from '../../sql/dialect.js'
import { judgeTexts, type Take } from '../../sql/judge-texts.js'
import type { RunStatement } from '../connection/connections.js'
import { inTransaction } from '../connection/transaction.js'
import { readTexts } from './batch.js'

/** What is read where a statement lets more through than its filter. */
export interface CoreReading {
  readonly table: string
  /** All that may match, in order. */
  readonly page: Statement
  readonly filter: Filter
  readonly signal: AbortSignal | undefined
}

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
