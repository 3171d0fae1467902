import type { Slice, Sliced } from '../../../core/slices.js'
import type { DatabaseQuery, DatabaseResult, DatabaseWork } from '../../sql/engine.js'
import { findMatching } from '../../sql/read/judge-texts.js'
import type { Connection } from './connection.js'

/** `STATEMENT`: the steps that a statement or a changed row costs. `ROW`: the steps that a returned row costs. */
const STATEMENT = 200
const ROW = 25

/** The number of characters of bound values that cost one step. */
const CHARACTERS = 4

/**
 * Runs the statements that a generator yields, and may pause after each of them. With `isSpread`, rows that triggers
 * change cost steps too.
 */
export function* drive<T>(
  connection: Connection,
  asking: DatabaseWork<T>,
  slice: Slice,
  isSpread = false,
): Sliced<T> {
  const countChanges = (): number => (isSpread ? Number(connection.first('SELECT total_changes()', [])) : 0)
  let next = asking.next()
  while (!next.done) {
    let answer: DatabaseResult
    try {
      const before = countChanges()
      answer = ask(connection, next.value, slice)
      slice.left -= STATEMENT * (countChanges() - before)
      if (slice.left <= 0) yield
      const { judged } = next.value
      if (judged) answer = { ...answer, rows: yield* findMatching(answer.rows, judged, slice) }
    } catch (thrown) {
      next = asking.throw(thrown)
      continue
    }
    next = asking.next(answer)
  }
  return next.value
}

function ask(connection: Connection, { text, values }: DatabaseQuery, slice: Slice): DatabaseResult {
  for (const value of values) if (typeof value === 'string') slice.left -= value.length / CHARACTERS
  const answer = connection.ask(text, values)
  slice.left -= STATEMENT * Math.max(1, answer.changed) + answer.rows.length * ROW
  return answer
}
