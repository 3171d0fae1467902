import type { Filter } from '../../filter/filter.js'
import { compileFilter } from '../../filter/matches.js'
import type { StoredDocument } from '../../storage.js'
import type { FilteredStatement } from '../sql/statements.js'
import type { RunStatement } from './connections.js'

/** Documents that are fetched at once. */
const BATCH = 500

/**
 * The documents that match, where the statement lets more through: one by one in its order, in bounded memory, as they
 * were at one moment.
 */
export async function* readInCore(
  run: RunStatement,
  { text, values }: FilteredStatement,
  filter: Filter,
): AsyncGenerator<StoredDocument, void, undefined> {
  const matches = compileFilter(filter)
  await run('BEGIN READ ONLY')
  try {
    await run(`DECLARE found NO SCROLL CURSOR FOR ${text}`, values)
    for (;;) {
      const { rows } = await run(`FETCH ${BATCH} FROM found`)
      for (const { document } of rows) {
        const candidate = JSON.parse(String(document)) as StoredDocument
        if (matches(candidate)) yield candidate
      }
      if (rows.length < BATCH) return
    }
  } finally {
    await run('ROLLBACK').catch(() => {})
  }
}
