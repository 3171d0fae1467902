import { bounds } from '../../bounds.js'
import { isPromise } from '../../promises.js'
import type { Call } from '../../request/call.js'
import type { Deadline } from '../../request/deadline.js'
import { inSlices, type Sliced } from '../../slices.js'
import type { MaybePromise } from '../../types.js'
import { endOfPiece, type TextStream } from './text-stream.js'

/** The number of documents that are read first. A list with at least this many documents is always streamed. */
export const START = 1500

/**
 * Adds text to a response, and the number of documents that end in it. If the response is streamed, the returned
 * promise resolves when the client has read the text.
 */
export type WriteText = (text: string, documents?: number) => MaybePromise<void>

/** Work that writes a text. Its call ends when the client of the stream disconnects. */
export type TextWork = Sliced<[current: Call, write: WriteText], void>

/**
 * Returns a short text as a whole, and a longer text as a stream. Work before the stream begins counts towards the
 * request's deadline.
 */
export function holdOrStream(call: Call, work: TextWork): MaybePromise<string | TextStream> {
  const text = new GrowingText(call.deadline)
  const current = call.within(text)
  const working = inSlices(
    (slices) => work(current, (more, documents) => text.add(more, documents), slices),
    () => text.signal,
  )
  return isPromise(working) ? text.holdUntilLong(working) : text.held
}

/**
 * Whether a text is streamed: if it has too many visible characters or documents. The size of hidden parts, which
 * limits how many documents are read together, does not count, so the choice does not reveal that size.
 */
const isLong = (characters: number, documents: number): boolean =>
  characters > bounds.shortCharacters || documents >= START

/** A text in work, and the deadline of this work: that of the request until the text becomes a stream. */
class GrowingText implements Deadline {
  /** The text that is not sent yet. */
  held = ''
  #documents = 0
  readonly #deadline: Deadline
  #controller: AbortController | undefined
  #isStreamed = false
  #hasEnded = false
  /** Continues or ends the work, which waits until its text was read. */
  #waiting: { readonly goOn: () => void; readonly fail: (reason: unknown) => void } | undefined
  /** Reports more text, or the end of the work. */
  #tell: () => void = () => {}

  constructor(deadline: Deadline) {
    this.#deadline = deadline
  }

  /** Aborts when the client disconnects, before the stream begins or afterwards. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    return this.#controller.signal
  }

  get caller(): Deadline['caller'] {
    return this.#deadline.caller
  }

  onOver(listener: () => void): () => void {
    const { signal } = this
    if (signal.aborted) listener()
    signal.addEventListener('abort', listener, { once: true })
    return () => signal.removeEventListener('abort', listener)
  }

  enter(wait: Parameters<Deadline['enter']>[0]): void {
    if (this.#isStreamed) this.signal.throwIfAborted()
    else this.#deadline.enter(wait)
  }

  add(text: string, documents = 0): MaybePromise<void> {
    this.held += text
    this.#documents += documents
    this.#isStreamed ||= isLong(this.held.length, this.#documents)
    if (!this.#isStreamed) return undefined
    this.signal.throwIfAborted()
    return new Promise((goOn, fail) => {
      this.#waiting = { goOn, fail }
      this.#tell()
    })
  }

  /** Returns the whole text when the work has ended, or a stream as soon as the text is long. */
  async holdUntilLong(working: Promise<void>): Promise<string | TextStream> {
    const stopListening = this.#deadline.onOver(() => this.#cancel())
    const more = this.#waitForMore()
    const end = (): void => {
      this.#hasEnded = true
      this.#tell()
    }
    working.then(end, end)
    if (!this.#isStreamed) await more
    if (!this.#isStreamed) await working
    stopListening()
    if (!this.#isStreamed) return this.held
    return { [Symbol.asyncIterator]: () => this.#send(working), cancel: () => this.#cancel() }
  }

  /** Resolves when there is more text, or when the work has ended. */
  #waitForMore(): Promise<void> {
    return new Promise((resolve) => {
      this.#tell = resolve
    })
  }

  #cancel(): void {
    const { signal } = this
    this.#controller?.abort()
    this.#waiting?.fail(signal.reason)
    this.#tell()
  }

  /**
   * Sends the text in pieces of equal length. The lengths in which it was written would reveal the size of hidden
   * parts, which limits how many documents are read together.
   */
  async *#send(working: Promise<void>): AsyncGenerator<string, void, undefined> {
    try {
      for (;;) {
        while (this.held.length > bounds.sentCharacters) {
          const end = endOfPiece(this.held, 0)
          const piece = this.held.slice(0, end)
          this.held = this.held.slice(end)
          yield piece
        }
        if (this.#hasEnded) break
        const more = this.#waitForMore()
        this.#waiting?.goOn()
        await more
        // A stream that was cancelled must not look complete.
        this.signal.throwIfAborted()
      }
      await working
      yield this.held
      this.signal.throwIfAborted()
    } finally {
      if (!this.#hasEnded) this.#cancel()
    }
  }
}
