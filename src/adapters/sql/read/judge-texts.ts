import type { Filter } from '../../../core/filter/filter.js'
import { compileJudge, type Judge } from '../../../core/filter/matches.js'
import type { Slice, Sliced } from '../../../core/slices.js'
import type { StoredDocument } from '../../../core/storage.js'

/** The characters of JSON that are parsed in about one step. */
export const CHARACTERS = 6

/** Parses a document, and takes its steps from the slice. */
export function parseDocument(text: string, slice: Slice): StoredDocument {
  slice.left -= text.length / CHARACTERS
  return JSON.parse(text) as StoredDocument
}

/** Receives the matches in order, with the bytes of their text, and returns whether to continue. */
export type ReceiveMatch = (document: StoredDocument, size: number) => boolean

/** Passes the matches among texts to `take` until it has enough; returns whether to continue. */
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

/** The `_id`s of the matches. */
export function* findMatching(
  texts: readonly unknown[],
  filter: Filter,
  slice: Slice,
): Sliced<readonly string[]> {
  const ids: string[] = []
  yield* judgeTexts(texts.map(String), compileJudge(filter), ({ _id }) => ids.push(_id) > 0, slice)
  return ids
}
