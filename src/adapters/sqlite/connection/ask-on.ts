import { whenReady } from '../../../core/promises.js'
import type { Ask, DatabaseResult } from '../../sql/engine.js'
import { findMatching } from '../../sql/read/judge-texts.js'
import type { Seat } from './readers.js'

/** `STATEMENT`: the steps that a statement or a changed row costs. `ROW`: the steps that a returned row costs. */
const STATEMENT = 200
const ROW = 25

/** The number of characters of bound values that cost one step. */
const CHARACTERS = 4

/**
 * Returns a function that runs statements, and pauses after a statement if the slice is used up. With `isSpread`, rows
 * that triggers change cost steps too.
 */
export function askOn({ connection, slices }: Pick<Seat, 'connection' | 'slices'>, isSpread = false): Ask {
  const countChanges = (): number => (isSpread ? Number(connection.first('SELECT total_changes()', [])) : 0)
  return ({ text, values, judged }) => {
    const before = countChanges()
    for (const value of values) if (typeof value === 'string') slices.left -= value.length / CHARACTERS
    const answer = connection.ask(text, values)
    slices.left -= STATEMENT * Math.max(1, answer.changed) + answer.rows.length * ROW
    slices.left -= STATEMENT * (countChanges() - before)
    const judging = whenReady(slices.left > 0 ? undefined : slices.next(), () =>
      judged ? findMatching(answer.rows, judged, slices) : answer.rows,
    )
    return whenReady(judging, (rows): DatabaseResult => ({ ...answer, rows }))
  }
}
