import type { StoredDocument } from '../storage.js'

/** The JSON text of a document as somebody may read it. */
export type WriteText = (document: StoredDocument) => string

/** Characters kept in all by this process: 64 MiB. When there are more, all are forgotten. */
const MAX_CHARACTERS = 32 * 1024 * 1024

/** What is longer is not kept: it would soon be all that is, and copying it costs hardly less than writing it. */
const MAX_TEXT = 64 * 1024

const kept = { characters: 0, generation: 0 }

/**
 * Keeps the texts of documents that nobody can change: those that storage hands out frozen, again and again. Writing
 * one costs much more than joining it to others.
 */
export function keepTexts(write: WriteText): WriteText {
  let texts = new WeakMap<StoredDocument, string>()
  let generation = kept.generation
  return (document) => {
    if (generation !== kept.generation) {
      texts = new WeakMap()
      generation = kept.generation
    }
    const known = texts.get(document)
    if (known !== undefined) return known
    const text = write(document)
    if (text.length > MAX_TEXT || !Object.isFrozen(document)) return text
    if (kept.characters + text.length > MAX_CHARACTERS) {
      kept.characters = 0
      kept.generation += 1
    } else {
      kept.characters += text.length
      texts.set(document, text)
    }
    return text
  }
}
