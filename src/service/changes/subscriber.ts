import type { Bytes } from '../../json/bytes.js'
import type { KnownCaller } from '../../permissions/caller.js'
import { Outbox, type Patience } from './outbox.js'
import type { Subscription, WatchedList } from './watched-list.js'

/** One open stream, and what is known of who listens. */
export class Subscriber {
  readonly subscription: Subscription
  readonly outbox: Outbox
  caller: KnownCaller | null
  list: WatchedList
  /**
   * The version of the user document up to which the log has told who listens; below zero where it has told nothing. Who it
   * is may have been read later than the place of the last reset: what lies between them is still judged.
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

  /** Tells what was found, as the client takes it. */
  async tell(outcome: SubscriberOutcome, patience: Patience): Promise<void> {
    if (outcome.kind === 'on') {
      if (outcome.as) this.become(outcome.as)
      return this.outbox.sendAll(outcome.texts, patience)
    }
    await this.outbox.makeRoom(patience)
    this.apply(outcome)
  }

  /** Carries out another standing, or the end. */
  apply(outcome: Exclude<SubscriberOutcome, { readonly kind: 'on' }>): void {
    const { outbox } = this
    if (outcome.kind === 'anew') this.become(outcome)
    outbox.send(outcome.text)
    if (outcome.kind === 'over') outbox.end()
  }
}

/** Who listens, and to what: the list, the caller, and the version of the user document. */
export type SubscriberStanding = Pick<Subscriber, 'list' | 'caller' | 'version'>

/**
 * What becomes of a subscriber: it is told of changes, and is perhaps somebody whose claims ask for something else; it
 * begins anew, or is over.
 */
export type SubscriberOutcome =
  | { readonly kind: 'on'; readonly texts: readonly Bytes[]; readonly as?: SubscriberStanding | undefined }
  | ({ readonly kind: 'anew'; readonly text: Bytes } & SubscriberStanding)
  | { readonly kind: 'over'; readonly text: Bytes }
