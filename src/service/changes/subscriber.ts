import type { Bytes } from '../../json/bytes.js'
import type { KnownCaller } from '../../permissions/caller.js'
import { Outbox, type Patience } from './outbox.js'
import type { Subscription, WatchedList } from './watched-list.js'

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
    if (outcome.kind === 'anew') this.become(outcome)
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
  | ({ readonly kind: 'anew'; readonly text: Bytes } & SubscriberStanding)
  | { readonly kind: 'over'; readonly text: Bytes }
