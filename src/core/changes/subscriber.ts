import { bounds } from '../bounds.js'
import type { TextStream } from '../documents/read/text-stream.js'
import type { Bytes } from '../json/bytes.js'
import type { KnownCaller } from '../permissions/caller.js'
import { COMMENT } from './frames.js'
import type { Subscription, WatchedList } from './watched-list.js'

/** The milliseconds that all clients together have to take the events of a page. */
const PATIENCE = 100

const comment: Bytes = new TextEncoder().encode(COMMENT)

/** The queue of events for the client of one stream. The texts are shared with other streams. */
export class Outbox implements TextStream {
  readonly #onOver: () => void
  #waiting: Bytes[] = []
  #bytes = 0
  #isOver = false
  /** Whether the client was waited for, and has not caught up yet. */
  #isLate = false
  /** Called when there is something to take, or the stream is over. */
  #wake: () => void = NOTHING
  /** Called when little is left, or the stream is over. */
  #drained: () => void = NOTHING

  /** `onOver` is called once, as soon as nothing more is sent. */
  constructor(onOver: () => void) {
    this.#onOver = onOver
  }

  /** Once the stream is over, the queue is finite. */
  isEndless(): boolean {
    return !this.#isOver
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Sends events; before each one it waits until there is room, or `patience` resolves. */
  async sendAll(texts: readonly Bytes[], patience: Patience): Promise<void> {
    for (const text of texts) {
      // There nearly always is room, and a promise per event and client would cost more than everything else.
      if (this.#bytes > bounds.waitingBytes) await this.makeRoom(patience)
      this.send(text)
    }
  }

  /**
   * If the queue is too long, waits until the client has taken most of it, or `patience` resolves. A client that has
   * used up the patience is not waited for again until it has caught up: it would delay all others forever.
   */
  async makeRoom(patience: Patience): Promise<void> {
    if (this.#bytes <= bounds.waitingBytes || this.#isLate) return
    this.#isLate = true
    await Promise.race([this.drain(), patience()])
  }

  /** Sends an event, or cuts the stream if the queue is too long. */
  send(text: Bytes): void {
    if (this.#isOver) return
    if (this.#bytes > bounds.waitingBytes) this.cancel()
    else this.#put(text)
  }

  /** Sends a comment, unless events are queued: these keep the stream open, too. */
  sendComment(): void {
    if (!this.#isOver && this.#bytes === 0) this.#put(comment)
  }

  /** Ends the stream after the queued events. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#wake()
    this.#drained()
    this.#onOver()
  }

  /** Ends the stream immediately. */
  cancel(): void {
    this.#waiting = []
    this.#bytes = 0
    this.end()
  }

  /** Waits until little is left. Only one caller at a time may wait. */
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

/** Resolves when slow clients are no longer waited for. */
type Patience = () => Promise<void>

/** The patience shared by all receivers of a page. It begins to run out when the first of them is slow. */
export function createPatience(): Patience {
  let end: Promise<void> | undefined
  return () => {
    end ??= new Promise((resolve) => void later(resolve, PATIENCE))
    return end
  }
}

// Read at load time: a fake clock of a test must not stop this timer.
const later = setTimeout

const NOTHING = (): void => {}

/** One open stream, and the known state of its caller. */
export class Subscriber {
  readonly subscription: Subscription
  readonly outbox: Outbox
  caller: KnownCaller | null
  list: WatchedList
  /**
   * The version of the user document up to which the log has been read; negative if the log had no change of it. The
   * caller may have been read later than the position of the last reset: the changes between them are still evaluated.
   */
  version = -1

  constructor(subscription: Subscription, list: WatchedList, onOver: (subscriber: Subscriber) => void) {
    this.subscription = subscription
    this.list = list
    this.outbox = new Outbox(() => onOver(this))
    this.caller = subscription.caller
  }

  become({ list, caller, version }: SubscriberStanding): void {
    this.list = list
    this.caller = caller
    this.version = version
  }

  /** Sends an outcome, as the client takes it. */
  async tell(outcome: SubscriberOutcome, patience: Patience): Promise<void> {
    if (outcome.kind === 'on') {
      if (outcome.as) this.become(outcome.as)
      return this.outbox.sendAll(outcome.texts, patience)
    }
    await this.outbox.makeRoom(patience)
    this.apply(outcome)
  }

  /** Applies another standing, or the end. */
  apply(outcome: Exclude<SubscriberOutcome, { readonly kind: 'on' }>): void {
    const { outbox } = this
    if (outcome.kind === 'reset') this.become(outcome)
    outbox.send(outcome.text)
    if (outcome.kind === 'over') outbox.end()
  }
}

/** The list, the caller, and the version of the user document. */
export type SubscriberStanding = Pick<Subscriber, 'list' | 'caller' | 'version'>

/**
 * The outcome for a subscriber: it gets events, perhaps as a caller whose claims read other documents; it restarts; or
 * it ends.
 */
export type SubscriberOutcome =
  | { readonly kind: 'on'; readonly texts: readonly Bytes[]; readonly as?: SubscriberStanding | undefined }
  | ({ readonly kind: 'reset'; readonly text: Bytes } & SubscriberStanding)
  | { readonly kind: 'over'; readonly text: Bytes }
