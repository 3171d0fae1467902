import type { Bytes } from '../json/bytes.js'
import { CACHES } from '../kept/caches.js'
import { type Slice, stepsToWrite } from '../slices.js'
import type { StoredDocument } from '../storage.js'

/** The JSON text of a document as some callers may read it, in UTF-8. */
export interface KeptText {
  readonly bytes: Bytes
  /** The entity tag, once somebody has asked for it. */
  etag?: string
}

/** The most bytes that a service keeps. Beyond that, it forgets all of them. */
const MAX_BYTES = 64 * 1024 * 1024

/** The bytes that a text takes beside its own, and what writes texts. */
const OVERHEAD = { text: 256, write: 2048 }

/** A longer text is not kept: a few would fill the store, and copying one costs nearly as much as writing. */
const MAX_TEXT = 64 * 1024

/** Texts lie side by side in blocks: a buffer for each would cost more than the text. */
const BLOCK = 4 * MAX_TEXT

/**
 * The text of a document, written or kept; `undefined` for a document that can still change. Takes the steps
 * of writing it from `slice`.
 */
export type FindText = (document: StoredDocument, slice: Slice) => KeptText | undefined

/** Creates a keeper for what one `write` writes; each has its own. */
export type KeepTexts = (write: (document: StoredDocument) => string) => FindText

/**
 * Keeps the texts of documents that cannot change: those that storage hands out frozen, again and again.
 * Writing a text costs much more than copying its bytes.
 */
export function createTextStore(): KeepTexts {
  const forgetting = new Set<() => void>()
  let kept = 0
  let block: Bytes = new Uint8Array(0)
  const encoder = new TextEncoder()

  const encode = (text: string): Bytes => {
    // A character has at most three bytes.
    if (text.length * 3 > block.length) {
      block = new Uint8Array(BLOCK)
      kept += BLOCK
    }
    const { written } = encoder.encodeInto(text, block)
    const bytes = block.subarray(0, written)
    block = block.subarray(written)
    return bytes
  }
  const makeRoom = (): void => {
    kept += OVERHEAD.text
    if (kept <= MAX_BYTES) return
    for (const forget of forgetting) forget()
    forgetting.clear()
    kept = 0
  }
  return (write) => {
    let texts: WeakMap<StoredDocument, KeptText> | undefined
    const forget = (): void => {
      texts = undefined
    }
    const begin = (): WeakMap<StoredDocument, KeptText> => {
      forgetting.add(forget)
      kept += OVERHEAD.write
      return new WeakMap()
    }
    const add: FindText = (document, slice) => {
      if (!CACHES.texts.isOn || !Object.isFrozen(document)) return undefined
      const written = write(document)
      slice.left -= stepsToWrite(written.length)
      if (written.length > MAX_TEXT) return { bytes: encoder.encode(written) }
      const text: KeptText = { bytes: encode(written) }
      makeRoom()
      texts ??= begin()
      texts.set(document, text)
      return text
    }
    return (document, slice) => (CACHES.texts.isOn && texts?.get(document)) || add(document, slice)
  }
}
