import type { Change, ChangePage, StoredDocument } from '../../storage.js'
import { callerOf } from '../accounts/account.js'
import { Bursts } from './bursts.js'
import { type LogReader, pageOfLog } from './log/log-reader.js'
import { createPatience } from './outbox.js'
import type { SealedPosition } from './sealed-ids.js'
import {
  changesOfUsers,
  checkStandings,
  findAskings,
  hasChanged,
  knownOf,
  listAs,
  NO_CLUES,
  OVER,
} from './standing/check-standings.js'
import { ClaimHistory } from './standing/claim-history.js'
import type { Subscriber, SubscriberOutcome } from './subscriber.js'
import { END, type EventSources, writeReset } from './tell.js'

/** The milliseconds after which the standing of a slow client is checked again before the next event. */
const FRESH = 1000

/** A returning subscriber, and the event after which its stream resumes. */
interface CatchUpRequest {
  readonly telling: EventSources
  readonly reader: LogReader
  readonly subscriber: Subscriber
  readonly mark: SealedPosition
  /** Subscribes to the changes that the reader takes from now on. */
  readonly join: () => void
}

/**
 * Sends a subscriber the missed events, as fast as the client takes them, until it has caught up with the others.
 * Restarts it with a `reset` if the mark is too old, its position is no longer retained, or the standing has changed
 * since.
 */
export async function catchUp(missed: CatchUpRequest): Promise<void> {
  const { telling, reader, subscriber, join } = missed
  const isWhole = (await isUnbroken(missed)) && (await tellMissed(missed))
  if (isWhole) return
  await reader.alone(async () => {
    // The caller may have changed meanwhile.
    const verdicts = await checkStandings(telling, new Map([[subscriber, NO_CLUES]]))
    const verdict = verdicts.get(subscriber) ?? OVER
    if (verdict.kind === 'over') return subscriber.apply({ kind: 'over', text: END })
    if (verdict.as) subscriber.become(verdict.as)
    subscriber.outbox.send(await writeReset(telling, subscriber.list, reader.position))
    join()
  })
}

/**
 * Whether the standing is unchanged since the mark, and the mark has not expired. Resets the subscriber to the caller
 * at the mark, whose claims may have read other documents.
 */
async function isUnbroken({ telling, subscriber, mark }: CatchUpRequest): Promise<boolean> {
  const { service, log } = telling
  const { accounts, plan } = service
  if (service.now() - mark.time > plan.limits.changesHours * 3_600_000) return false
  const { list, subscription, outbox } = subscriber
  const auth = subscription.session ? accounts : null
  /** Reads on from the mark; false if that is no longer retained, or if `take` returns false. */
  const readOn = async (take: (page: ChangePage, own: readonly Change[]) => Promise<boolean>) => {
    for (let [position, more] = [mark.position, true]; more && !outbox.isOver; ) {
      const page = await log(position, pageOfLog())
      const own = changesOfUsers(service, page.changes).get(subscription.session?.user._id ?? '') ?? []
      if (page.gap || !(await take(page, own))) return false
      ;({ position, more } = page)
    }
    return true
  }
  // The user's version at the time of the event is unknown: every change counts.
  const known = { ...knownOf(subscriber), version: -1 }
  if (auth) {
    let first: StoredDocument | undefined
    const isSame = await readOn(async (_, own) => {
      // An account created meanwhile is not the account of the mark.
      if (own[0]?.before === null) return false
      first ??= own[0]?.before
      return !hasChanged(telling, auth, known, own)
    })
    if (!isSame) return false
    if (first) {
      const caller = callerOf(auth, first)
      subscriber.become({
        list: await listAs(telling, subscriber, caller),
        caller,
        version: first._version,
      })
    }
  }
  if (list.claims.length === 0) return true
  const histories = subscriber.list.claims.map((claim) => new ClaimHistory(claim))
  const isKept = await readOn(async (page, own) => {
    const askings = findAskings(telling, known, own)
    for (const history of histories) await history.read(telling, page, askings)
    return true
  })
  if (!isKept) return false
  for (const history of histories) if (await history.wasAnother(telling)) return false
  return true
}

/** Sends all missed events, then joins the others; false if the subscriber must restart. */
async function tellMissed({ telling, reader, subscriber, mark, join }: CatchUpRequest): Promise<boolean> {
  const { outbox } = subscriber
  const bursts = new Bursts()
  let position = mark.position
  /** Sends a page; `undefined` if nothing is left, else whether the stream continues. */
  const tell = async (pause: () => Promise<void>): Promise<boolean | undefined> => {
    const page = await telling.log(position, pageOfLog())
    if (page.gap) return false
    const part = bursts.cut(page)
    position = part.position
    const outcome = (await bursts.tell(telling, new Set([subscriber]), part)).get(subscriber)
    if (!(await tellPart(telling, subscriber, outcome, pause))) return false
    return part.more && !outbox.isOver ? true : undefined
  }
  for (let goesOn: boolean | undefined = true; goesOn; ) {
    goesOn = await tell(() => outbox.drain())
    if (goesOn === false) return false
  }
  // The few changes that came meanwhile. The reader sends the ones that it has not taken yet.
  return reader.alone(async () => {
    const patience = createPatience()
    for (let goesOn: boolean | undefined = true; goesOn; ) {
      goesOn = await tell(() => outbox.makeRoom(patience))
      if (goesOn === false) return false
    }
    join()
    return true
  })
}

/**
 * Whether the standing of a subscriber is unchanged. If the session has ended, the stream ends too, and later events
 * are dropped.
 */
async function isSame(telling: EventSources, subscriber: Subscriber): Promise<boolean> {
  const verdicts = await checkStandings(telling, new Map([[subscriber, NO_CLUES]]))
  const verdict = verdicts.get(subscriber) ?? OVER
  if (verdict.kind === 'over') subscriber.apply({ kind: 'over', text: END })
  if (verdict.kind === 'another') subscriber.become(verdict.as)
  return verdict.kind !== 'another'
}

/** False if the subscriber now has another standing. `pause` runs before each event. */
async function tellPart(
  telling: EventSources,
  subscriber: Subscriber,
  outcome: SubscriberOutcome | undefined,
  pause: () => Promise<void>,
): Promise<boolean> {
  switch (outcome?.kind) {
    case 'on': {
      if (outcome.as) subscriber.become(outcome.as)
      let judged = performance.now()
      for (const text of outcome.texts) {
        await pause()
        if (performance.now() - judged > FRESH) {
          if (!(await isSame(telling, subscriber))) return false
          judged = performance.now()
        }
        subscriber.outbox.send(text)
      }
      return true
    }
    case 'anew':
      subscriber.become(outcome)
      return false
    case 'over':
      subscriber.apply(outcome)
      return true
    default:
      return true
  }
}
