import type { Change, ChangePage } from '../../storage.js'
import type { Subscriber } from '../subscriber.js'
import { type Clues, findAskings, knownOf } from './check-standings.js'
import type { PastClaim } from './claim-history.js'
import { createPast } from './claim-over-history.js'
import type { Sources } from './watched-claims.js'

/** Collects the changes in the log that may affect the standing of a subscriber, page by page. */
export class StandingReview {
  readonly subscriber: Subscriber
  readonly #own: Change[] = []
  readonly #histories: readonly PastClaim[]

  constructor(sources: Sources, subscriber: Subscriber) {
    this.subscriber = subscriber
    const { caller, list } = subscriber
    this.#histories = list.claims.map((claim) => createPast(sources, caller, claim))
  }

  /** Whether any change in the log can affect the standing. */
  get isOpen(): boolean {
    return this.subscriber.subscription.session !== undefined || this.#histories.length > 0
  }

  get clues(): Clues {
    return { own: this.#own, touched: this.#histories.filter(({ isTouched }) => isTouched) }
  }

  get hasClues(): boolean {
    return this.#own.length > 0 || this.#histories.some(({ isTouched }) => isTouched)
  }

  /** Reviews the next page. `ofUsers` has the changes of user documents by `_id`. */
  async read(
    sources: Sources,
    page: Pick<ChangePage, 'changes' | 'position'>,
    ofUsers: ReadonlyMap<string, readonly Change[]>,
  ): Promise<void> {
    const { session } = this.subscriber.subscription
    const own = (session && ofUsers.get(session.user._id)) ?? []
    this.#own.push(...own)
    const askings = own.length === 0 ? [] : findAskings(sources, knownOf(this.subscriber), own)
    for (const history of this.#histories) await history.read(sources, page, askings)
  }
}
