import { bounds } from '../../bounds.js'
import type { Bytes } from '../../json/bytes.js'

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
