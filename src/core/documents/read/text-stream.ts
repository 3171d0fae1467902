import { bounds } from '../../bounds.js'
import type { Bytes } from '../../json/bytes.js'
import { ignoreFailure } from '../../promises.js'

/** A text, whole or in pieces. */
export type Text = string | Bytes | TextStream

/** Text that arrives in pieces; byte arrays may be shared with other streams. */
export interface TextStream extends AsyncIterable<string | Bytes> {
  /**
   * Whether the stream lasts as long as its client is connected. Such a stream may be idle for long, and the service
   * does not wait for its end.
   */
  isEndless?(): boolean
  /** Ends the stream and its work, even while the work waits. */
  cancel(): void
}

/**
 * Returns the end of the piece that begins at `start`. Does not split a surrogate pair, because half a pair cannot be
 * encoded.
 */
export function endOfPiece(text: string, start: number): number {
  const end = start + bounds.sentCharacters
  const isPair = end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800
  return isPair ? end + 1 : end
}

/** A stream that can be cancelled before it begins. */
interface TextStreamSource {
  /** Aborts when the stream is cancelled. */
  readonly signal: AbortSignal
  hasBegun(): boolean
  cancel(): void
  /** Begins the stream. `end` is called when the stream is cancelled, even if no client has read from it. */
  begin(texts: AsyncGenerator<string, void, undefined>, end: () => Promise<unknown>): TextStream
}

/** Creates a stream that has not begun. */
export function createTextStream(): TextStreamSource {
  const controller = new AbortController()
  let hasBegun = false
  const cancel = (): void => controller.abort()
  return {
    signal: controller.signal,
    hasBegun: () => hasBegun,
    cancel,
    begin(texts, end) {
      hasBegun = true
      return {
        async *[Symbol.asyncIterator]() {
          yield* texts
          // A stream that was cancelled must not look complete.
          controller.signal.throwIfAborted()
        },
        cancel() {
          cancel()
          // The pending read now fails. Its error is ignored.
          ignoreFailure(Promise.all([texts.return(), end()]))
        },
      }
    },
  }
}
