import { endOfPiece } from '../documents/read/text-stream.js'
import { isEndless, type TextStream } from './answer.js'

/** The milliseconds after which a stream ends if its client reads nothing (CONTRACT.md §6). */
export const IDLE_MILLISECONDS = 30_000

/** Splits a long string into pieces. */
export function* piecesOf(text: string): Generator<string, void, undefined> {
  for (let start = 0; start < text.length; ) {
    const end = endOfPiece(text, start)
    yield text.slice(start, end)
    start = end
  }
}

/**
 * Wraps a stream. `onText` is called for each chunk. `onEnd` is called once, when the stream ends, fails or is
 * cancelled, with whether all of it was read; `thrown` is the cause of a failure.
 */
export function observeStream(
  stream: TextStream,
  onText: (() => void) | undefined,
  onEnd: (isWhole: boolean, thrown?: unknown) => void,
): TextStream {
  let hasEnded = false
  const end = (isWhole: boolean, thrown?: unknown): void => {
    if (!hasEnded) onEnd(isWhole, thrown)
    hasEnded = true
  }
  return {
    async *[Symbol.asyncIterator]() {
      try {
        for await (const text of stream) {
          onText?.()
          yield text
        }
        end(true)
      } catch (thrown) {
        end(false, thrown)
        throw thrown
      } finally {
        end(false)
      }
    },
    cancel() {
      end(false)
      stream.cancel()
    },
    isEndless: () => isEndless(stream),
  }
}
