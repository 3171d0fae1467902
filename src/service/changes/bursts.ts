import type { ChangePage } from '../../storage.js'
import { createEachPace } from '../pace.js'
import { pageOfLog } from './log/log-reader.js'
import { changesOfUsers, checkStandings, type IsKnown } from './standing/check-standings.js'
import { StandingReview } from './standing/standing-review.js'
import type { Subscriber, SubscriberOutcome } from './subscriber.js'
import { END, type EventSources, tellChanges, writeReset } from './tell.js'

/**
 * What subscribers are told of the log, page by page. What was written by the time that it is read counts as one burst,
 * however many pages it has: whose standing was another within it begins anew behind it. So the number of hidden changes
 * does not decide which events a `reset` replaces (CONTRACT.md §9, "What events tell").
 */
export class Bursts {
  /** The changes that were looked at, and are not told of yet. */
  #left = 0
  /** Those who have begun anew behind them. */
  #ahead: ReadonlySet<Subscriber> = new Set()
  /** The milliseconds by which the storage's clock is before this one, at least. */
  #lead = 0

  /** The same page, no further than to the end of the burst. */
  cut(page: ChangePage): ChangePage {
    const last = page.changes[this.#left - 1]
    if (!last || this.#left === page.changes.length) return page
    return { ...page, changes: page.changes.slice(0, this.#left), position: last.position, more: true }
  }

  /** Finds out what becomes of subscribers by a page. What throws can be done again. */
  async tell(
    telling: EventSources,
    subscribers: ReadonlySet<Subscriber>,
    page: ChangePage,
  ): Promise<ReadonlyMap<Subscriber, SubscriberOutcome>> {
    const newest = page.changes.at(-1)
    if (newest) this.#lead = Math.max(this.#lead, newest.time - Date.now())
    const { length, anew, ahead, isKnown } =
      this.#left > 0
        ? { length: this.#left, anew: [], ahead: this.#ahead, isKnown: () => false }
        : await lookAhead(telling, subscribers, page, Date.now() + this.#lead + SLACK)
    const others = [...subscribers].filter((subscriber) => !ahead.has(subscriber))
    const outcomes = await tellChanges(telling, others, page, isKnown)
    this.#left = length - page.changes.length
    this.#ahead = ahead
    return new Map([...anew, ...outcomes])
  }
}

/** A burst, and what becomes of those whose standing was another within it, or is over. */
interface BurstOutcome {
  /** The number of its changes. */
  readonly length: number
  readonly anew: readonly (readonly [Subscriber, SubscriberOutcome])[]
  readonly ahead: ReadonlySet<Subscriber>
  readonly isKnown: IsKnown
}

/** The milliseconds by which the storage's clock may be further than changes have shown. */
const SLACK = 100

/** The steps of looking at a page for one subscriber, beside those that this counts itself. */
const STEPS_A_LOOK = 50

/**
 * Reads on to the end of the log, or to what was written when this had begun, by the storage's clock: somebody may write
 * as fast as it is read.
 */
async function lookAhead(
  telling: EventSources,
  subscribers: ReadonlySet<Subscriber>,
  first: ChangePage,
  until: number,
): Promise<BurstOutcome> {
  const looks = Array.from(subscribers, (one) => new StandingReview(one)).filter(({ isOpen }) => isOpen)
  let page = first
  let { length } = first.changes
  let isEnd = false
  const pace = createEachPace()
  while (looks.length > 0) {
    const ofUsers = changesOfUsers(telling.service, page.changes)
    for (const look of looks) {
      await look.read(telling, page, ofUsers)
      const pause = pace(STEPS_A_LOOK)
      if (pause) await pause
    }
    if ((page.changes.at(-1)?.time ?? 0) > until) break
    // Also behind the last page: since that was read, somebody may have become another, and what they were before again.
    const next = await telling.log(page.position, pageOfLog())
    isEnd = next.changes.length === 0 && !next.gap
    // Who reads on finds a gap, too, and lets everybody begin anew.
    if (isEnd || next.gap) break
    page = next
    length += page.changes.length
  }
  const asked = new Map(looks.filter(({ hasClues }) => hasClues).map((look) => [look.subscriber, look.clues]))
  const anew: (readonly [Subscriber, SubscriberOutcome])[] = []
  for (const [subscriber, verdict] of await checkStandings(telling, asked)) {
    if (verdict.kind === 'over') anew.push([subscriber, { kind: 'over', text: END }])
    if (verdict.kind !== 'another') continue
    const text = await writeReset(telling, verdict.as.list, page.position)
    anew.push([subscriber, { kind: 'anew', ...verdict.as, text }])
  }
  const known = new Set(
    looks.filter(({ hasClues }) => isEnd && !hasClues).map(({ subscriber }) => subscriber),
  )
  return {
    length,
    anew,
    ahead: new Set(anew.map(([subscriber]) => subscriber)),
    isKnown: (subscriber) => known.has(subscriber),
  }
}
