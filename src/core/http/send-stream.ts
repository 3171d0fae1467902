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
 * cancelled; `thrown` is the cause of a failure.
 */
export function observeStream(
  stream: TextStream,
  onText: (() => void) | undefined,
  onEnd: (thrown?: unknown) => void,
): TextStream {
  let hasEnded = false
  const end = (thrown?: unknown): void => {
    if (!hasEnded) onEnd(thrown)
    hasEnded = true
  }
  return {
    async *[Symbol.asyncIterator]() {
      try {
        for await (const text of stream) {
          onText?.()
          yield text
        }
      } catch (thrown) {
        end(thrown)
        throw thrown
      } finally {
        end()
      }
    },
    cancel() {
      end()
      stream.cancel()
    },
    isEndless: () => isEndless(stream),
  }
}

/**
 * Converts the chunks of a stream to pieces of bytes. Chunks that are bytes are copied, so that the reader may change
 * them.
 */
async function* inPieces(stream: TextStream): AsyncGenerator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder()
  for await (const text of stream) {
    if (typeof text !== 'string') yield text.slice()
    else for (const piece of piecesOf(text)) yield encoder.encode(piece)
  }
}

/** Converts a stream to a web-standard stream of bytes, which ends with an error if its client stops reading. */
export function toReadableStream(stream: TextStream): ReadableStream<Uint8Array> {
  const texts = inPieces(stream)
  let timer: ReturnType<typeof setTimeout> | undefined
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      clearTimeout(timer)
      try {
        const { done, value } = await texts.next()
        if (done) return controller.close()
        controller.enqueue(value)
      } catch (thrown) {
        return controller.error(thrown)
      }
      // An endless stream needs no timeout, because it limits its own backlog.
      if (isEndless(stream)) return
      timer = setTimeout(() => {
        controller.error(new Error('the client of this stream has stopped reading'))
        stream.cancel()
      }, IDLE_MILLISECONDS)
      // A stream that is not read must not keep the process alive.
      ;(timer as { unref?: () => void }).unref?.()
    },
    cancel() {
      clearTimeout(timer)
      stream.cancel()
    },
  })
}
