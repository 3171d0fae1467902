import { runSliced } from '../../../core/slices.js'
import type { Statement } from '../../sql/dialect.js'
import type { DatabaseQuery, DatabaseResult, DatabaseWork } from '../../sql/engine.js'
import { findMatching } from '../../sql/read/judge-texts.js'

/** Runs one statement. */
type RunQuery = (
  text: string,
  values: Statement['values'],
) => Promise<{
  readonly rows: readonly object[]
  readonly rowCount: number
}>

/** Runs the statements that a generator yields, on one connection. Returns the result of the generator. */
export async function drive<T>(run: RunQuery, asking: DatabaseWork<T>): Promise<T> {
  let next = asking.next()
  while (!next.done) {
    let answer: DatabaseResult
    try {
      answer = await ask(run, next.value)
    } catch (thrown) {
      next = asking.throw(thrown)
      continue
    }
    next = asking.next(answer)
  }
  return next.value
}

async function ask(run: RunQuery, { text, values, judged }: DatabaseQuery): Promise<DatabaseResult> {
  const { rows, rowCount } = await run(text, values)
  const first = rows.map((row) => Object.values(row)[0])
  const found = judged ? await runSliced((slice) => findMatching(first, judged, slice)) : first
  return { rows: found, changed: rowCount }
}
