import { runSliced, type Slice, type Sliced } from '../../../core/slices.js'
import type { Listed, MaybePromise, StoredDocument } from '../../../core/storage.js'
import { CHARACTERS } from '../../sql/read/judge-texts.js'
import type { WorkCaller } from '../connection/connections.js'

/** The result of a read: JSON texts, each with one document or with a list of documents. */
export interface TextList {
  readonly texts: readonly string[]
  /** A JSON list of the `_id`s of documents beyond the byte limit. */
  readonly rest?: string | null | undefined
}

/** Parses the documents of a read. */
export const parseListed = (texts: TextList, caller: WorkCaller): MaybePromise<Listed> =>
  runSliced(
    (slice) => parseAll(texts, slice),
    () => caller.signal,
  )

function* parseAll({ texts, rest }: TextList, slice: Slice): Sliced<Listed> {
  const documents: StoredDocument[] = []
  for (const text of texts) {
    const parsed = (yield* parseText(text, slice)) as StoredDocument | StoredDocument[]
    if (!Array.isArray(parsed)) documents.push(parsed)
    // A single list is returned without a copy.
    else if (texts.length === 1) return withRest(parsed, rest)
    else for (const document of parsed) documents.push(document)
  }
  return withRest(documents, rest)
}

const withRest = (documents: StoredDocument[], rest: TextList['rest']): Listed =>
  rest ? Object.assign(documents, { rest: JSON.parse(rest) as readonly string[] }) : documents

/** Subtracts the steps of parsing from the slice, then parses a JSON text. Yields first if too few steps are left. */
export function* parseText(text: string, slice: Slice): Sliced<unknown> {
  const steps = text.length / CHARACTERS
  if (slice.left < steps) yield
  slice.left -= steps
  return JSON.parse(text) as unknown
}
