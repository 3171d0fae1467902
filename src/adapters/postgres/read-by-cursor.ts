import { everything, type Filter } from '../../filter/filter.js'
import { compileFilter } from '../../filter/matches.js'
import type { StoredDocument } from '../../storage.js'
import type { FilteredStatement } from '../sql/statements.js'
import type { Rows, RunStatement } from './connections.js'

/** Documents that are fetched at once. */
const BATCH = 500

/**
 * The documents of a statement, in its order and in batches, as they were at one moment; a connection is held until it
 * ends. Where the statement lets more through than `filter`, the rest is left out here.
 */
export async function* readByCursor(
  run: RunStatement,
  { text, values, isExact }: FilteredStatement,
  filter: Filter,
): AsyncGenerator<readonly StoredDocument[], void, undefined> {
  const matches = compileFilter(isExact ? everything : filter)
  await run('BEGIN READ ONLY')
  try {
    await run(`DECLARE found NO SCROLL CURSOR FOR ${text}`, values)
    for (;;) {
      const documents = parseDocuments(await run(`FETCH ${BATCH} FROM found`))
      const matching = documents.filter(matches)
      if (matching.length > 0) yield matching
      if (documents.length < BATCH) return
    }
  } finally {
    await run('ROLLBACK').catch(() => {})
  }
}

export const parseDocuments = ({ rows }: Rows): readonly StoredDocument[] =>
  rows.map(({ document }) => JSON.parse(String(document)) as StoredDocument)

/** What comes behind `skip`, up to `limit` documents. */
export async function* cutPage(
  batches: AsyncIterable<readonly StoredDocument[]>,
  skip: number,
  limit: number | null,
): AsyncGenerator<readonly StoredDocument[], void, undefined> {
  const end = limit === null ? Number.POSITIVE_INFINITY : skip + limit
  let passed = 0
  if (end <= skip) return
  for await (const batch of batches) {
    const part = batch.slice(Math.max(0, skip - passed), Math.max(0, end - passed))
    passed += batch.length
    if (part.length > 0) yield part
    if (passed >= end) return
  }
}
