import type { Filter } from '../../../filter/filter.js'
import { compileJudge } from '../../../filter/matches.js'
import { runSliced } from '../../../slices.js'
import type { Statement } from '../../sql/dialect.js'
import { judgeTexts, type ReceiveMatch } from '../../sql/read/judge-texts.js'
import type { WorkCaller } from '../connection/connections.js'
import type { RunStatement } from '../connection/session.js'
import { inTransaction } from '../connection/transaction.js'
import { readTexts } from './batch.js'

/** A read whose statement selects more than its filter matches. */
export interface CoreReading {
  readonly table: string
  /** Selects all possible matches, in order. */
  readonly page: Statement
  readonly filter: Filter
  readonly caller: WorkCaller
}

/**
 * Reads with a statement that selects more than the filter matches, and filters in the process, in slices. It sees
 * one snapshot, and its memory does not grow with the number of documents.
 */
export const readInCore = (
  run: RunStatement,
  { table, page, filter, caller }: CoreReading,
  take: ReceiveMatch,
): Promise<void> =>
  inTransaction(
    run,
    'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
    async () => {
      const judge = compileJudge(filter)
      for await (const texts of readTexts(run, table, page)) {
        caller.signal?.throwIfAborted()
        const goesOn = await runSliced(
          (slice) => judgeTexts(texts, judge, take, slice),
          () => caller.signal,
        )
        if (!goesOn) return
      }
    },
    () => false,
  )
