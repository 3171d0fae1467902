import type { Filter } from '../../../core/filter/filter.js'
import { compileJudge, type Judge } from '../../../core/filter/matches.js'
import { whenReady } from '../../../core/promises.js'
import { type Sliced, untilDone } from '../../../core/slices.js'
import type { StoredDocument } from '../../../core/storage.js'

/** The number of characters of JSON that are parsed in about one step of a slice. */
export const CHARACTERS = 6

/** Parses a document, and subtracts the steps of parsing from the slice. */
export function parseDocument(text: string, slice: { left: number }): StoredDocument {
  slice.left -= text.length / CHARACTERS
  return JSON.parse(text) as StoredDocument
}

/** Subtracts the steps of parsing from the slice, then parses a JSON text. Waits first if too few steps are left. */
export const parseText: Sliced<[text: string], unknown> = (text, slices) => {
  const steps = text.length / CHARACTERS
  const parse = (): unknown => {
    slices.left -= steps
    return JSON.parse(text)
  }
  return slices.left < steps ? slices.next().then(parse) : parse()
}

/** Receives each match in order, with its JSON text. Returns whether to continue. */
export type ReceiveMatch = (document: StoredDocument, text: string) => boolean

/**
 * Parses documents and passes those that match to `take`, until `take` returns false. Returns whether to continue
 * with further documents.
 */
export const judgeTexts: Sliced<[texts: readonly string[], judge: Judge, take: ReceiveMatch], boolean> = (
  texts,
  judge,
  take,
  slices,
) => {
  let place = 0
  let document: StoredDocument | undefined
  let goesOn = true
  const judgeSome = (): boolean => {
    for (; goesOn && place < texts.length; place++) {
      const text = texts[place] ?? ''
      document ??= parseDocument(text, slices)
      const verdict = slices.left > 0 ? judge(document, slices) : undefined
      if (verdict === undefined) return false
      if (verdict) goesOn = take(document, text)
      document = undefined
    }
    return true
  }
  return whenReady(untilDone(slices, judgeSome), () => goesOn)
}

/** Returns the `_id`s of the documents that match a filter. */
export const findMatching: Sliced<[texts: readonly unknown[], filter: Filter], readonly string[]> = (
  texts,
  filter,
  slices,
) => {
  const ids: string[] = []
  const take = ({ _id }: StoredDocument): boolean => ids.push(_id) > 0
  return whenReady(judgeTexts(texts.map(String), compileJudge(filter), take, slices), () => ids)
}
