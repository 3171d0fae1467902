import { bounds } from '../bounds.js'
import type { TextStream } from '../documents/read/text-stream.js'
import type { Bytes } from '../json/bytes.js'
import type { KnownCaller } from '../permissions/caller.js'
import type { Subscription, WatchedList } from './watched-list.js'

/** The milliseconds that all clients combined have to take the events of a page. */
const PATIENCE = 100

/** The comment that keeps an idle stream open. */
const COMMENT: Bytes = new TextEncoder().encode(':\n\n')

/** The queue of events for the client of one stream. The texts are shared with other streams. */
export class Outbox implements TextStream {
  readonly #onOver: () => void
  #waiting: Bytes[] = []
  #bytes = 0
  #isOver = false
  /** Whether the service already waited for this slow client, which still has not caught up. */
  #isLate = false
  /** Wakes the reader of the stream: called when an event is queued, or the stream is over. */
  #wake: () => void = NOTHING
  /** Called when the client has taken most of the queue, or the stream is over. */
  #drained: () => void = NOTHING

  /** `onOver` is called once, as soon as the queue accepts no more events. */
  constructor(onOver: () => void) {
    this.#onOver = onOver
  }

  /** False once the stream is over: then only the queued events remain. */
  isEndless(): boolean {
    return !this.#isOver
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Sends events. Before each event it waits until the queue has room, or until `patience` resolves. */
  async sendAll(texts: readonly Bytes[], patience: Patience): Promise<void> {
    for (const text of texts) {
      // The queue nearly always has room, and a promise for each event and client would cost more than everything else.
      if (this.#bytes > bounds.waitingBytes) await this.makeRoom(patience)
      this.send(text)
    }
  }

  /**
   * If the queue is too long, waits until the client has taken most of it, or `patience` resolves. After that, the
   * service does not wait again until this client has caught up, because a slow client would delay all others forever.
   */
  async makeRoom(patience: Patience): Promise<void> {
    if (this.#bytes <= bounds.waitingBytes || this.#isLate) return
    this.#isLate = true
    await Promise.race([this.drain(), patience()])
  }

  /** Sends an event, or ends the stream immediately if the queue is too long. */
  send(text: Bytes): void {
    if (this.#isOver) return
    if (this.#bytes > bounds.waitingBytes) this.cancel()
    else this.#put(text)
  }

  /** Sends a comment, unless events are queued, because these keep the stream open too. */
  sendComment(): void {
    if (!this.#isOver && this.#bytes === 0) this.#put(COMMENT)
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

  /** Waits until the client has taken most of the queue. Only one caller at a time may wait. */
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

/** Creates the time limit that all slow receivers of a page share. It starts with the first wait. */
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

/** One open stream, and the state of its caller as far as it is known. */
export class Subscriber {
  readonly subscription: Subscription
  readonly outbox: Outbox
  caller: KnownCaller | null
  list: WatchedList
  /**
   * The version of the user document up to which the log has been read; negative if the log had no change of that
   * document yet. `caller` may be newer than this version, if it was read after the position of the last `reset`: the
   * changes in between still have to be evaluated.
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

  /** Sends an outcome, as fast as the client takes it. */
  async tell(outcome: SubscriberOutcome, patience: Patience): Promise<void> {
    if (outcome.kind === 'on') {
      if (outcome.as) this.become(outcome.as)
      return this.outbox.sendAll(outcome.texts, patience)
    }
    await this.outbox.makeRoom(patience)
    this.apply(outcome)
  }

  /** Sends a `reset` for another standing, or ends the stream. */
  apply(outcome: SubscriberEnd): void {
    const { outbox } = this
    if (outcome.kind === 'reset') this.become(outcome)
    outbox.send(outcome.text)
    if (outcome.kind === 'over') outbox.end()
  }
}

/** The list, the caller, and the version of the user document. */
export type SubscriberStanding = Pick<Subscriber, 'list' | 'caller' | 'version'>

/** `reset`: the subscriber restarts with another standing. `over`: its stream ends. */
export type SubscriberEnd =
  | ({ readonly kind: 'reset'; readonly text: Bytes } & SubscriberStanding)
  | { readonly kind: 'over'; readonly text: Bytes }

/**
 * The result of a page for a subscriber. `on`: it gets events, and continues as `as` if its claims come from other
 * documents now.
 */
export type SubscriberOutcome =
  | SubscriberEnd
  | { readonly kind: 'on'; readonly texts: readonly Bytes[]; readonly as?: SubscriberStanding | undefined }
