import type { StoredDocument } from '../storage.js'

/** Writes the JSON text of a document as one caller may read it. */
export type WriteText = (document: StoredDocument) => string

/** The most characters that a service keeps: 64 MiB. Beyond that, it forgets all of them. */
const MAX_CHARACTERS = 32 * 1024 * 1024

/** A longer text is not kept: a few would fill the store, and copying one costs nearly as much as writing. */
const MAX_TEXT = 64 * 1024

/** Wraps a `write` so that its texts are kept; each `write` has its own. */
export type KeepTexts = (write: WriteText) => WriteText

/**
 * Keeps the texts of documents that cannot change: those that storage hands out frozen, again and again.
 * Writing a text costs much more than joining it to others.
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
