import type { Bytes } from '../json/bytes.js'
import { CACHES } from '../kept/caches.js'
import { type Slice, stepsToWrite } from '../slices.js'
import type { StoredDocument } from '../storage.js'

/** The JSON text of a document as some callers may read it, in UTF-8. */
export interface KeptText {
  readonly bytes: Bytes
  /** The entity tag, computed on first use. */
  etag?: string
}

/** The maximum number of bytes that a service caches. If they are exceeded, all texts are evicted. */
const MAX_BYTES = 64 * 1024 * 1024

/** The overhead in bytes of each text, and of each function that writes texts. */
const OVERHEAD = { text: 256, write: 2048 }

/**
 * The longest text that is cached. A few longer ones would fill the cache, and copying them costs nearly as much as
 * writing them.
 */
const MAX_TEXT = 64 * 1024

/** The size of a block of memory, which many texts share: a buffer for each text would cost more than the text. */
const BLOCK = 4 * MAX_TEXT

/**
 * Returns the text of a document, from the cache if possible; `undefined` for a document that is not frozen. Subtracts
 * the steps of writing a text from `slice`.
 */
export type FindText = (document: StoredDocument, slice?: Slice) => KeptText | undefined

/** Creates the cache for the texts that one `write` function writes. */
export type KeepTexts = (write: (document: StoredDocument) => string) => FindText

/**
 * Creates the cache for the texts of frozen documents, which storage returns repeatedly. Writing a text costs much more
 * than copying its bytes.
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
  return (write) => {
    let texts: WeakMap<StoredDocument, KeptText> | undefined
    const forget = (): void => {
      texts = undefined
    }
    const add: FindText = (document, slice) => {
      if (!CACHES.texts.isOn || !Object.isFrozen(document)) return undefined
      const written = write(document)
      if (slice) slice.left -= stepsToWrite(written.length)
      if (written.length > MAX_TEXT) return { bytes: encoder.encode(written) }
      const text: KeptText = { bytes: encode(written) }
      kept += OVERHEAD.text
      if (kept > MAX_BYTES) {
        for (const forgetTexts of forgetting) forgetTexts()
        forgetting.clear()
        kept = 0
      }
      if (!texts) {
        texts = new WeakMap()
        forgetting.add(forget)
        kept += OVERHEAD.write
      }
      texts.set(document, text)
      return text
    }
    return (document, slice) => (CACHES.texts.isOn && texts?.get(document)) || add(document, slice)
  }
}
