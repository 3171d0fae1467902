import { runSliced, type Slice, type Sliced } from '../../../slices.js'
import type { Listed, StoredDocument } from '../../../storage.js'
import type { Rows } from '../connection/connections.js'

/** Characters of JSON that are read in about one step. */
const CHARACTERS = 5

/** A document, and the steps that reading it took. */
export function parseDocument(text: string, slice: Slice): StoredDocument {
  slice.left -= text.length / CHARACTERS
  return JSON.parse(text) as StoredDocument
}

/** The documents of rows, and the `_id`s that a row names beside them. */
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
