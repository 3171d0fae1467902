import { inSlices } from '../../../core/slices.js'
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

/** Runs some work on one connection. */
export const drive = async <T>(run: RunQuery, work: DatabaseWork<T>): Promise<T> =>
  work((query) => ask(run, query))

async function ask(run: RunQuery, { text, values, judged }: DatabaseQuery): Promise<DatabaseResult> {
  const { rows, rowCount } = await run(text, values)
  const first = rows.map((row) => Object.values(row)[0])
  const found = judged ? await inSlices((slices) => findMatching(first, judged, slices)) : first
  return { rows: found, changed: rowCount }
}
