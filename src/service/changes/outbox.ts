import { bounds } from '../../bounds.js'
import type { Bytes } from '../../json/bytes.js'
import type { TextStream } from '../read/text-stream.js'
import { COMMENT } from './frames.js'

/** The milliseconds that clients have, all at once, to take what comes at once. */
const PATIENCE = 100

const comment: Bytes = new TextEncoder().encode(COMMENT)

/** What waits for the client of one stream. The texts are shared with other streams. */
export class Outbox implements TextStream {
  readonly #onOver: () => void
  #waiting: Bytes[] = []
  #bytes = 0
  #isOver = false
  /** Whether it was waited for, and has not come so far yet. */
  #isLate = false
  /** Called when there is something to take, or the stream is over. */
  #wake: () => void = NOTHING
  /** Called when little is left, or the stream is over. */
  #drained: () => void = NOTHING

  /** `onOver` is called once, as soon as nothing more is sent. */
  constructor(onOver: () => void) {
    this.#onOver = onOver
  }

  /** Once it is over, what waits has an end. */
  isEndless(): boolean {
    return !this.#isOver
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Sends events, and waits with each until there is room, or patience is at an end. */
  async sendAll(texts: readonly Bytes[], patience: Patience): Promise<void> {
    for (const text of texts) {
      // Nearly always there is, and a promise for each event of each client would cost more than all else.
      if (this.#bytes > bounds.waitingBytes) await this.makeRoom(patience)
      this.send(text)
    }
  }

  /**
   * Where too much waits, waits until the client has taken most of it, or patience is at an end. Who has used it up gets
   * no more until then: one client would hold up all others for ever.
   */
  async makeRoom(patience: Patience): Promise<void> {
    if (this.#bytes <= bounds.waitingBytes || this.#isLate) return
    this.#isLate = true
    await Promise.race([this.drain(), patience()])
  }

  /** Sends an event, or cuts the stream where too much waits already. */
  send(text: Bytes): void {
    if (this.#isOver) return
    if (this.#bytes > bounds.waitingBytes) this.cancel()
    else this.#put(text)
  }

  /** A comment says nothing, so it is left out where something else waits. */
  sendComment(): void {
    if (!this.#isOver && this.#bytes === 0) this.#put(comment)
  }

  /** Ends the stream behind what waits. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#wake()
    this.#drained()
    this.#onOver()
  }

  /** Ends the stream at once. */
  cancel(): void {
    this.#waiting = []
    this.#bytes = 0
    this.end()
  }

  /** Waits until little is left. One at a time may wait. */
  async drain(): Promise<void> {
    while (!this.#isOver && this.#bytes > bounds.fewWaitingBytes) {
      await new Promise<void>((resolve) => {
        this.#drained = resolve
      })
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Bytes, void, undefined> {
    for (;;) {
      const text = this.#waiting.shift()
      if (text !== undefined) {
        this.#bytes -= text.length
        if (this.#bytes <= bounds.fewWaitingBytes) {
          this.#isLate = false
          this.#drained()
        }
        yield text
      } else if (this.#isOver) {
        return
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
    }
  }

  #put(text: Bytes): void {
    this.#waiting.push(text)
    this.#bytes += text.length
    this.#wake()
  }
}

/** Resolves when clients that take their time are waited for no longer. */
export type Patience = () => Promise<void>

/** The patience with all who are told the same. It begins to run out when the first of them takes time. */
export function createPatience(): Patience {
  let end: Promise<void> | undefined
  return () => {
    end ??= new Promise((resolve) => void later(resolve, PATIENCE))
    return end
  }
}

// Read at start: a fake clock of a test must not stop what others wait for.
const later = setTimeout

const NOTHING = (): void => {}
