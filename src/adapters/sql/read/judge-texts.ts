import type { Filter } from '../../../core/filter/filter.js'
import { compileJudge, type Judge } from '../../../core/filter/matches.js'
import type { Slice, Sliced } from '../../../core/slices.js'
import type { StoredDocument } from '../../../core/storage.js'

/** The number of characters of JSON that are parsed in about one step of a slice. */
export const CHARACTERS = 6

/** Parses a document, and subtracts the steps of parsing from the slice. */
export function parseDocument(text: string, slice: Slice): StoredDocument {
  slice.left -= text.length / CHARACTERS
  return JSON.parse(text) as StoredDocument
}

/** Receives each match in order, with the bytes of its JSON text. Returns whether to continue. */
export type ReceiveMatch = (document: StoredDocument, size: number) => boolean

/**
 * Parses documents and passes those that match to `take`, until `take` returns false. Returns whether to continue
 * with further documents.
 */
export function* judgeTexts(
  texts: readonly string[],
  judge: Judge,
  take: ReceiveMatch,
  slice: Slice,
): Sliced<boolean> {
  for (const text of texts) {
    const document = parseDocument(text, slice)
    if (slice.left <= 0) yield
    let verdict = judge(document, slice)
    while (verdict === undefined) {
      yield
      verdict = judge(document, slice)
    }
    if (verdict && !take(document, Buffer.byteLength(text))) return false
  }
  return true
}

/** Returns the `_id`s of the documents that match a filter. */
export function* findMatching(
  texts: readonly unknown[],
  filter: Filter,
  slice: Slice,
): Sliced<readonly string[]> {
  const ids: string[] = []
  yield* judgeTexts(texts.map(String), compileJudge(filter), ({ _id }) => ids.push(_id) > 0, slice)
  return ids
}
