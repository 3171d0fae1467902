import { bounds } from '../bounds.js'
import { forEachCounted, Slices } from '../slices.js'
import type { ChangePage } from '../storage.js'
import { pageOfLog } from './log/log-reader.js'
import { changesOfUsers, checkStandings, type IsKnown } from './standing/check-standings.js'
import { StandingReview } from './standing/standing-review.js'
import type { Subscriber, SubscriberOutcome } from './subscriber.js'
import { type EventSources, endFor, tellChanges } from './tell.js'

/**
 * Computes the events of subscribers, page by page. All changes that are in the log when a page is read form one burst,
 * on any number of pages. A subscriber whose standing changes within a burst gets a `reset` after the burst, so the
 * number of hidden changes does not decide which events a `reset` replaces (CONTRACT.md §9, "Hidden changes").
 */
export class Bursts {
  /** The number of changes of the burst that were reviewed, but not sent yet. */
  #left = 0
  /** The subscribers that already got a `reset` for the end of the burst. */
  #ahead: ReadonlySet<Subscriber> = new Set()
  /** The milliseconds by which the clock of the storage is ahead of this process, as far as changes have shown. */
  #lead = 0

  /** Returns the page without the changes after the end of the burst. */
  cut(page: ChangePage): ChangePage {
    const last = page.changes[this.#left - 1]
    if (!last || this.#left === page.changes.length) return page
    return { ...page, changes: page.changes.slice(0, this.#left), position: last.position, more: true }
  }

  /** Computes the outcome of a page for each subscriber. Can be retried after an error. */
  async tell(
    telling: EventSources,
    subscribers: ReadonlySet<Subscriber>,
    page: ChangePage,
  ): Promise<ReadonlyMap<Subscriber, SubscriberOutcome>> {
    const newest = page.changes.at(-1)
    if (newest) this.#lead = Math.max(this.#lead, newest.time - Date.now())
    const { length, decided, ahead, isKnown } =
      this.#left > 0
        ? { length: this.#left, decided: [], ahead: this.#ahead, isKnown: () => false }
        : await lookAhead(telling, subscribers, page, Date.now() + this.#lead + SLACK)
    const others = [...subscribers].filter((subscriber) => !ahead.has(subscriber))
    const outcomes = await tellChanges(telling, others, page, isKnown)
    this.#left = length - page.changes.length
    this.#ahead = ahead
    return new Map([...decided, ...outcomes])
  }
}

/** A burst, and the outcomes of those subscribers whose standing changed within it, or whose stream has ended. */
interface BurstOutcome {
  /** The number of its changes. */
  readonly length: number
  readonly decided: readonly (readonly [Subscriber, SubscriberOutcome])[]
  readonly ahead: ReadonlySet<Subscriber>
  readonly isKnown: IsKnown
}

/** A tolerance in milliseconds: the clock of the storage may be ahead by more than changes have shown. */
const SLACK = 100

/** The cost of the review of a page for one subscriber, in steps, without the steps that the review counts itself. */
const STEPS_A_LOOK = 50

/**
 * Reviews the log up to its end, or up to the changes that were written when the review began, by the clock of the
 * storage. The second limit is needed because a client may write as fast as the log is read.
 */
async function lookAhead(
  telling: EventSources,
  subscribers: ReadonlySet<Subscriber>,
  first: ChangePage,
  until: number,
): Promise<BurstOutcome> {
  const looks = Array.from(subscribers, (one) => new StandingReview(telling, one)).filter(
    ({ isOpen }) => isOpen,
  )
  let page = first
  let { length } = first.changes
  let isEnd = false
  const slices = new Slices(bounds.longFirstSlice)
  while (looks.length > 0) {
    const ofUsers = changesOfUsers(telling.service, page.changes)
    const { changes, position } = page
    const read = async (look: StandingReview): Promise<number> => {
      await look.read(telling, { changes, position }, ofUsers)
      return STEPS_A_LOOK
    }
    await forEachCounted(looks, read, slices)
    if ((page.changes.at(-1)?.time ?? 0) > until) break
    // Reads again even after the last page: since that page was read, a caller may have changed and changed back.
    const next = await telling.log(page.position, pageOfLog())
    isEnd = next.changes.length === 0 && !next.gap
    // The regular read finds the gap, too, and restarts all subscribers.
    if (isEnd || next.gap) break
    page = next
    length += page.changes.length
  }
  const asked = new Map(looks.filter(({ hasClues }) => hasClues).map((look) => [look.subscriber, look.clues]))
  const decided: (readonly [Subscriber, SubscriberOutcome])[] = []
  for (const [subscriber, verdict] of await checkStandings(telling, asked)) {
    const end = await endFor(telling, verdict, page.position)
    if (end) decided.push([subscriber, end])
  }
  const known = new Set(
    looks.filter(({ hasClues }) => isEnd && !hasClues).map(({ subscriber }) => subscriber),
  )
  return {
    length,
    decided,
    ahead: new Set(decided.map(([subscriber]) => subscriber)),
    isKnown: (subscriber) => known.has(subscriber),
  }
}
