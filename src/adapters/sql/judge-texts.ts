import type { Filter } from '../../filter/filter.js'
import { compileJudge, type Judge } from '../../filter/matches.js'
import type { Slice, Sliced } from '../../slices.js'
import type { StoredDocument } from '../../storage.js'

/** Characters of JSON that are read in about one step. */
const CHARACTERS = 6

/** A document, and the steps that reading it took. */
export function parseDocument(text: string, slice: Slice): StoredDocument {
  slice.left -= text.length / CHARACTERS
  return JSON.parse(text) as StoredDocument
}

/** Gets what matches, in order, with the bytes of its text, and says whether to go on. */
export type Take = (document: StoredDocument, size: number) => boolean

/** Gives the documents of texts that match, until there are enough; says whether to go on. */
export function* judgeTexts(
  texts: readonly string[],
  judge: Judge,
  take: Take,
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

/** The `_id`s of documents that match. */
export function* findMatching(
  texts: readonly unknown[],
  filter: Filter,
  slice: Slice,
): Sliced<readonly string[]> {
  const ids: string[] = []
  yield* judgeTexts(texts.map(String), compileJudge(filter), ({ _id }) => ids.push(_id) > 0, slice)
  return ids
}
