import { runSliced, type Slice, type Sliced } from '../../../slices.js'
import type { Listed, StoredDocument } from '../../../storage.js'
import { parseDocument } from '../../sql/judge-texts.js'
import type { Rows } from '../connection/connections.js'

/** Parses the documents of rows, and the `_id`s in the row that names them. */
export const parseListed = async ({ rows }: Rows, signal?: AbortSignal): Promise<Listed> =>
  runSliced(
    (slice) => parseAll(rows, slice),
    () => signal,
  )

function* parseAll(rows: Rows['rows'], slice: Slice): Sliced<Listed> {
  const documents: StoredDocument[] = []
  let rest: readonly string[] | undefined
  for (const row of rows) {
    if (typeof row.document === 'string') documents.push(parseDocument(row.document, slice))
    else if (typeof row.rest === 'string') rest = JSON.parse(row.rest) as readonly string[]
    if (slice.left <= 0) yield
  }
  return rest ? Object.assign(documents, { rest }) : documents
}
