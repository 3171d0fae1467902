/** Text that comes piece by piece. */
export interface TextStream extends AsyncIterable<string> {
  /** Ends the work, whatever it waits for. */
  cancel(): void
}

/** Characters that are written at once, unless the text of one document is longer. */
export const PIECE = 256 * 1024

/** A stream to be. */
interface TextStreamSource {
  /** Aborts when the stream is cancelled. */
  readonly signal: AbortSignal
  readonly hasBegun: boolean
  cancel(): void
  /** `end` is called when the stream is cancelled, whether anybody has begun to read it or not. */
  begin(texts: AsyncGenerator<string, void, undefined>, end: () => Promise<unknown>): TextStream
}

export function createTextStream(): TextStreamSource {
  const controller = new AbortController()
  let hasBegun = false
  const cancel = (): void => controller.abort()
  return {
    signal: controller.signal,
    get hasBegun() {
      return hasBegun
    },
    cancel,
    begin(texts, end) {
      hasBegun = true
      return {
        async *[Symbol.asyncIterator]() {
          yield* texts
          // What was cut off must not pass for the whole.
          controller.signal.throwIfAborted()
        },
        cancel() {
          cancel()
          // What it waits for fails now; it says so to nobody.
          Promise.all([texts.return(), end()]).catch(() => {})
        },
      }
    },
  }
}
