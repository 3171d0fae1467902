import type { StoredDocument } from '../storage.js'

/** The JSON text of a document as somebody may read it. */
export type WriteText = (document: StoredDocument) => string

/** Characters kept in all by a service: 64 MiB. When there are more, all are forgotten. */
const MAX_CHARACTERS = 32 * 1024 * 1024

/** What is longer is not kept: it would soon be all that is, and copying it costs hardly less than writing it. */
const MAX_TEXT = 64 * 1024

/** What is done with the texts that are written: those of one `write` stay apart from those of another. */
export type KeepTexts = (write: WriteText) => WriteText

/**
 * Keeps the texts of documents that nobody can change: those that storage hands out frozen, again and again. Writing
 * one costs much more than joining it to others.
 */
export function createTextStore(): KeepTexts {
  let characters = 0
  let present = 0
  return (write) => {
    let texts = new WeakMap<StoredDocument, string>()
    let generation = present
    return (document) => {
      if (generation !== present) {
        texts = new WeakMap()
        generation = present
      }
      const known = texts.get(document)
      if (known !== undefined) return known
      const text = write(document)
      if (text.length > MAX_TEXT || !Object.isFrozen(document)) return text
      if (characters + text.length > MAX_CHARACTERS) {
        characters = 0
        present += 1
      } else {
        characters += text.length
        texts.set(document, text)
      }
      return text
    }
  }
}
