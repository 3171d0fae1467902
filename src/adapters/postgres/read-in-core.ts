import type { Filter } from '../../filter/filter.js'
import { compileFilter } from '../../filter/matches.js'
import type { StoredDocument } from '../../storage.js'
import type { Statement } from '../sql/dialect.js'
import type { Rows, RunStatement } from './connections.js'
import { inTransaction } from './transaction.js'

/** Documents that are fetched at once. */
const BATCH = 500

/**
 * Reads where a statement lets more through than its filter: the rest is left out here, as the documents were at one
 * moment and in memory that does not grow with them. `take` gets what matches, in order, and says whether to go on.
 */
export const readInCore = (
  run: RunStatement,
  { text, values }: Statement,
  filter: Filter,
  take: (document: StoredDocument) => boolean,
): Promise<void> =>
  inTransaction(
    run,
    'BEGIN READ ONLY',
    async () => {
      const matches = compileFilter(filter)
      await run(`DECLARE found NO SCROLL CURSOR FOR ${text}`, values)
      for (;;) {
        const documents = parseDocuments(await run(`FETCH ${BATCH} FROM found`))
        for (const document of documents) if (matches(document) && !take(document)) return
        if (documents.length < BATCH) return
      }
    },
    () => false,
  )

export const parseDocuments = ({ rows }: Rows): readonly StoredDocument[] =>
  rows.map(({ document }) => JSON.parse(String(document)) as StoredDocument)
