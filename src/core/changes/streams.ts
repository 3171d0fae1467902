import { callerOf } from '../accounts/account.js'
import { resumeSession } from '../accounts/sessions.js'
import { ServiceError } from '../errors.js'
import { digest } from '../json/digest.js'
import type { KnownCaller } from '../permissions/caller.js'
import { createRunAlone } from '../promises.js'
import type { Service } from '../request/call.js'
import type { ReadLog, Store } from '../request/store.js'
import { forEachCounted } from '../slices.js'
import type { Change, ChangePage, StoredDocument } from '../storage.js'
import { Bursts } from './bursts.js'
import { findEventKey } from './log/log-plans.js'
import { LogReader, pageOfLog } from './log/log-reader.js'
import { createSealedIds, type SealedPosition } from './sealed-ids.js'
import {
  changesOfUsers,
  checkAgain,
  checkStanding,
  checkStandings,
  claimsAt,
  findAskings,
  hasChanged,
  knownOf,
  listAs,
  NO_CLUES,
  OVER,
  type Verdict,
} from './standing/check-standings.js'
import { createPast } from './standing/claim-over-history.js'
import { createPatience, type Outbox, Subscriber, type SubscriberOutcome } from './subscriber.js'
import { END, type EventSources, endFor, writeReset } from './tell.js'
import { type Subscription, type WatchedList, watchList } from './watched-list.js'

/** The slots for open streams in one process: one for each stream. */
interface Places {
  /** The number of slots in use. */
  readonly taken: number
  /**
   * Takes a slot in the name of its holders: the caller and the address of the client. The returned function releases
   * the slot. Throws `overloaded` if all slots are taken, or if one of the holders already has a tenth of all
   * (CONTRACT.md §9, "Bounds of streams").
   */
  take(holders: readonly string[]): () => void
}

/** Creates `most` slots. */
export function createPlaces(most: number): Places {
  const share = Math.max(1, Math.floor(most / 10))
  const held = new Map<string, number>()
  const add = (holders: readonly string[], count: number): void => {
    for (const holder of holders) {
      const now = (held.get(holder) ?? 0) + count
      if (now === 0) held.delete(holder)
      else held.set(holder, now)
    }
  }
  let taken = 0
  return {
    get taken() {
      return taken
    },
    take(holders) {
      if (taken >= most || holders.some((holder) => (held.get(holder) ?? 0) >= share))
        throw new ServiceError('overloaded', 'Too many streams are open. Try again in a moment.')
      taken += 1
      add(holders, 1)
      let isBack = false
      return () => {
        if (isBack) return
        isBack = true
        taken -= 1
        add(holders, -1)
      }
    },
  }
}

/** The maximum number of pages that are joined so that a write is not cut. A delete may change many documents. */
const MAX_JOINED = 64

/**
 * Reads the log in pages that end between two writes. Changes that are read together are evaluated together, so the
 * number and the size of hidden changes in a write must not decide where a page ends (CONTRACT.md §9, "Hidden
 * changes").
 */
const inWholeWrites =
  (log: ReadLog): ReadLog =>
  async (after, query) => {
    const page = await log(after, query)
    const last = page.changes.at(-1)
    if (!last || !page.more) return page
    const others = page.changes.findLastIndex(({ write }) => write !== last.write) + 1
    if (others > 0) return endAt(page, page.changes.slice(0, others))
    const { wait: _, ...asked } = query
    return joinWrite(page, last.write, (position) => log(position, asked))
  }

/** Returns the page with only `changes`, the first changes of the page. */
function endAt(page: ChangePage, changes: readonly Change[]): ChangePage {
  return { ...page, changes, position: changes.at(-1)?.position ?? page.position, more: true }
}

/** Reads more pages, up to the end of a write that is larger than a page. */
async function joinWrite(
  page: ChangePage,
  write: number,
  readOn: (position: string) => Promise<ChangePage>,
): Promise<ChangePage> {
  const changes = [...page.changes]
  let { position } = page
  for (let joined = 1; joined < MAX_JOINED; joined++) {
    const next = await readOn(position)
    // Some changes are no longer retained. The next read of a page reports that.
    if (next.gap) break
    const end = next.changes.findIndex((change) => change.write !== write)
    changes.push(...next.changes.slice(0, end < 0 ? undefined : end))
    if (end >= 0) return endAt(page, changes)
    ;({ position } = next)
    if (!next.more) return { ...page, changes, position, more: false }
  }
  return { ...page, changes, position, more: true }
}

/** While a slow client catches up: the milliseconds after which its standing is checked again before the next event. */
const FRESH = 1000

/** A subscriber that reconnects, and the event after which its stream resumes. */
interface CatchUpRequest {
  readonly telling: EventSources
  readonly reader: LogReader
  readonly subscriber: Subscriber
  readonly mark: SealedPosition
  /** After this call, the reader sends the subscriber all changes that the reader processes. */
  readonly join: () => void
}

/**
 * Sends a subscriber the events that it missed, as fast as the client takes them, until it has caught up with the other
 * subscribers. Restarts the subscriber with a `reset` if `mark` is too old, if changes after `mark` are no longer
 * retained, or if the standing has changed since.
 */
async function catchUp(missed: CatchUpRequest): Promise<void> {
  const { telling, reader, subscriber, join } = missed
  const isWhole = (await isUnbroken(missed)) && (await tellMissed(missed))
  if (isWhole) return
  await reader.alone(async () => {
    // The caller may have changed while the missed events were sent.
    const verdict = await checkAgain(telling, subscriber)
    if (verdict.kind === 'over') return subscriber.apply({ kind: 'over', text: END })
    if (verdict.as) subscriber.become(verdict.as)
    subscriber.outbox.send(await writeReset(telling, subscriber.list, reader.position))
    join()
  })
}

/**
 * Whether `mark` has not expired, and the standing has been the same since. Also sets the caller of the subscriber to
 * the caller as of `mark`, because the claims may have come from other documents then.
 */
async function isUnbroken({ telling, subscriber, mark }: CatchUpRequest): Promise<boolean> {
  const { service, log } = telling
  const { accounts, plan } = service
  if (service.now() - mark.time > plan.limits.changesHours * 3_600_000) return false
  const { list, subscription, outbox } = subscriber
  const auth = subscription.session ? accounts : null
  /**
   * Reads the log from the mark to its end. Returns false if changes after the mark are no longer retained, or if
   * `take` returns false.
   */
  const readOn = async (take: (page: ChangePage, own: readonly Change[]) => Promise<boolean>) => {
    for (let [position, more] = [mark.position, true]; more && !outbox.isOver; ) {
      const page = await log(position, pageOfLog())
      const own = changesOfUsers(service, page.changes).get(subscription.session?.user._id ?? '') ?? []
      if (page.gap || !(await take(page, own))) return false
      ;({ position, more } = page)
    }
    return true
  }
  // It is unknown which version of the user document the event was evaluated with, so every change counts.
  const known = { ...knownOf(subscriber), version: -1 }
  if (auth) {
    let first: StoredDocument | undefined
    const isSame = await readOn(async (_, own) => {
      // An account that was created after the mark is not the account of the mark.
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
  const { caller } = subscriber
  const histories = subscriber.list.claims.map((claim) => createPast(telling, caller, claim))
  const isKept = await readOn(async (page, own) => {
    const askings = findAskings(telling, known, own)
    for (const history of histories) await history.read(telling, page, askings)
    return true
  })
  if (!isKept) return false
  for (const history of histories) if (await history.wasAnother(telling)) return false
  const claims = claimsAt('start', subscriber.list, histories)
  subscriber.become({ ...subscriber, list: { ...subscriber.list, claims } })
  return true
}

/** Sends all missed events, then joins the other subscribers. Returns false if the subscriber must restart. */
async function tellMissed({ telling, reader, subscriber, mark, join }: CatchUpRequest): Promise<boolean> {
  const { outbox } = subscriber
  const bursts = new Bursts()
  let position = mark.position
  /**
   * Sends the events of the next page. Returns true if more pages follow, false if the subscriber must restart, and
   * `undefined` if the subscriber has caught up.
   */
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
  // Only the few changes that were written in the last moments are left. The reader may send some of them again,
  // because it has not processed them yet.
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
 * Whether the standing of a subscriber is unchanged. If its session has ended, ends the stream, so that later events
 * are dropped.
 */
async function isSame(telling: EventSources, subscriber: Subscriber): Promise<boolean> {
  const verdict = await checkAgain(telling, subscriber)
  if (verdict.kind === 'over') subscriber.apply({ kind: 'over', text: END })
  if (verdict.kind === 'another') subscriber.become(verdict.as)
  return verdict.kind !== 'another'
}

/**
 * Sends the outcome of a page to one subscriber. Returns false if the subscriber now has another standing. Calls
 * `pause` before each event.
 */
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
    case 'reset':
      subscriber.become(outcome)
      return false
    case 'over':
      subscriber.apply(outcome)
      return true
    default:
      return true
  }
}

/** The milliseconds between two comments of a stream (CONTRACT.md §9, "Events"). */
const TICK = 15_000

/**
 * The number of ticks after which the caller is identified again, and after which rights that depend on the time are
 * evaluated again.
 */
const TICKS = { identify: 2, time: 4 } as const

/** The streams of changes of a service. While no stream is open, it reads nothing and runs no timer. */
export class ChangeStreams {
  readonly #service: Service
  readonly #store: Store
  readonly #log: ReadLog
  readonly #places: Places
  readonly #reader: LogReader
  readonly #all = new Set<Subscriber>()
  /** The subscribers that have caught up with the reader. */
  readonly #joined = new Set<Subscriber>()
  #bursts = new Bursts()
  #preparing: Promise<EventSources> | undefined
  #isClosed = false

  constructor(service: Service, changes: ReadLog, store: Store) {
    this.#service = service
    this.#store = store
    this.#log = inWholeWrites(changes)
    this.#places = createPlaces(service.plan.limits.subscribers)
    this.#reader = new LogReader({
      log: this.#log,
      logger: service.logger,
      take: (page) => this.#take(page),
      fail: () => this.#fail(),
    })
  }

  /**
   * Opens a stream. Throws `overloaded` beyond `limits.subscribers`, and the errors that the list would throw for the
   * caller.
   */
  async open(subscription: Subscription): Promise<Outbox> {
    if (this.#isClosed) throw new ServiceError('overloaded', 'The service is closing.')
    const giveBack = this.#places.take(holdersOf(subscription))
    const release = (): void => {
      giveBack()
      if (this.#places.taken > 0) return
      this.#reader.end()
      this.#bursts = new Bursts()
    }
    try {
      return await this.#subscribe(subscription, release)
    } catch (thrown) {
      release()
      throw thrown
    }
  }

  /** Ends all streams. */
  close(): void {
    this.#isClosed = true
    for (const { outbox } of this.#all) outbox.end()
    this.#reader.end()
  }

  async #subscribe(subscription: Subscription, release: () => void): Promise<Outbox> {
    const reader = this.#reader
    const told = await this.#telling()
    await reader.begin()
    // The caller is read after the log was read to its end, so every later change of the caller is found in the log.
    return reader.alone(async () => {
      await reader.takeAll()
      const who = await identify(told, subscription)
      const list = await watchList(told, who, who.caller)
      const subscriber = this.#enter(who, list, release)
      const join = (): void => {
        if (!subscriber.outbox.isOver) this.#joined.add(subscriber)
      }
      const mark = who.after === undefined ? undefined : await told.ids.unseal(who.after)
      if (mark?.digest === list.digest && !list.isTimed) {
        catchUp({ telling: told, reader, subscriber, mark, join }).catch((cause) =>
          this.#break(subscriber, cause),
        )
      } else {
        await beginAnew(told, subscriber, reader.position)
        join()
      }
      return subscriber.outbox
    })
  }

  /** Creates a subscriber, and sends comments to its client until the stream ends. */
  #enter(who: Subscription, list: WatchedList, release: () => void): Subscriber {
    let stopTicking = (): void => {}
    const subscriber = new Subscriber(who, list, () => {
      stopTicking()
      this.#all.delete(subscriber)
      this.#joined.delete(subscriber)
      release()
    })
    this.#all.add(subscriber)
    stopTicking = startTicking((count) => void this.#tick(subscriber, count))
    return subscriber
  }

  async #tick(subscriber: Subscriber, count: number): Promise<void> {
    const { outbox, subscription, list } = subscriber
    outbox.sendComment()
    if (!this.#joined.has(subscriber)) return
    try {
      if (count % TICKS.identify === 0) {
        if (!subscription.session && subscription.askHost)
          await this.#checkHost(subscriber, subscription.askHost)
        else if (subscription.session || list.claims.length > 0) await this.#checkNow(subscriber)
      }
      if (count % TICKS.time === 0 && list.isTimed) await this.#judgeByTime(subscriber)
    } catch (cause) {
      this.#break(subscriber, cause)
    }
  }

  #break({ outbox }: Subscriber, cause: unknown): void {
    this.#service.logger.error('an error has ended a stream of changes', { cause })
    outbox.cancel()
  }

  #fail(): void {
    for (const { outbox } of this.#all) outbox.cancel()
  }

  async #take(page: ChangePage): Promise<string> {
    const told = await this.#telling()
    if (page.gap) {
      const asked = new Map(Array.from(this.#joined, (subscriber) => [subscriber, NO_CLUES]))
      for (const [subscriber, verdict] of await checkStandings(told, asked))
        await this.#settle(subscriber, beginAgain(verdict, subscriber), page.position)
      this.#bursts = new Bursts()
      return page.position
    }
    const part = this.#bursts.cut(page)
    const outcomes = await this.#bursts.tell(told, this.#joined, part)
    await tellAll(outcomes)
    return part.position
  }

  /** Checks the standing of a subscriber now. This also finds changes that are not logged. */
  #checkNow(subscriber: Subscriber): Promise<void> {
    return this.#reader.alone(async () => {
      await this.#settle(subscriber, await checkAgain(await this.#telling(), subscriber))
    })
  }

  async #checkHost(subscriber: Subscriber, askHost: () => Promise<KnownCaller | null>): Promise<void> {
    const caller = await inTime(askHost(), this.#service.plan.limits.requestSeconds)
    await this.#reader.alone(async () => {
      if (caller?.id !== subscriber.caller?.id) return this.#settle(subscriber, OVER)
      const present = { caller, known: [] }
      const verdict = await checkStanding(await this.#telling(), subscriber, NO_CLUES, present)
      return this.#settle(subscriber, verdict)
    })
  }

  async #settle(subscriber: Subscriber, verdict: Verdict, position = this.#reader.position): Promise<void> {
    if (verdict.kind === 'same' && verdict.as) subscriber.become(verdict.as)
    const end = await endFor(await this.#telling(), verdict, position)
    if (end) subscriber.apply(end)
  }

  #judgeByTime(subscriber: Subscriber): Promise<void> {
    return this.#reader.alone(async () => beginAnew(await this.#telling(), subscriber, this.#reader.position))
  }

  /** Prepares the sources of events once. If that fails, the next call tries again. */
  #telling(): Promise<EventSources> {
    this.#preparing ??= this.#prepare().catch((thrown) => {
      this.#preparing = undefined
      throw thrown
    })
    return this.#preparing
  }

  async #prepare(): Promise<EventSources> {
    const service = this.#service
    const key = await findEventKey(this.#store)
    const purpose = digest(`event ids ${service.plan.log?.configuration}`)
    const ids = createSealedIds(key, { purpose, now: service.now })
    return { service, store: this.#store, log: this.#log, alone: createRunAlone(), ids }
  }
}

/** Turns an unchanged standing into another one, so that the subscriber restarts in any case. */
const beginAgain = (verdict: Verdict, subscriber: Subscriber): Verdict =>
  verdict.kind === 'same' ? { kind: 'another', as: verdict.as ?? subscriber } : verdict

const beginAnew = async (told: EventSources, { outbox, list }: Subscriber, position: string): Promise<void> =>
  outbox.send(await writeReset(told, list, position))

/** The cost of one event for one client, in steps. It includes the work of the code that reads the stream. */
const STEPS_A_TEXT = 200

/** Sends each subscriber its outcome, as fast as its client takes it: a slow client delays only the next page. */
async function tellAll(outcomes: ReadonlyMap<Subscriber, SubscriberOutcome>): Promise<void> {
  const patience = createPatience()
  const telling: Promise<void>[] = []
  await forEachCounted(outcomes, ([subscriber, outcome]) => {
    const told = subscriber.tell(outcome, patience)
    // `Promise.all` below throws the failure, after all others were sent.
    told.catch(() => {})
    telling.push(told)
    return STEPS_A_TEXT * (outcome.kind === 'on' ? outcome.texts.length : 1)
  })
  await Promise.all(telling)
}

/** Calls `tick` at intervals until the returned function is called. The timer does not keep the process alive. */
function startTicking(tick: (count: number) => void): () => void {
  let count = 0
  const timer = setInterval(() => tick(++count), TICK)
  ;(timer as { unref?: () => void }).unref?.()
  return () => clearInterval(timer)
}

/** Rejects if the host does not answer in time: rights that the host does not confirm must not stay in use. */
function inTime<T>(answer: Promise<T>, seconds: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new Error('options.authenticate did not answer in time'))
    const timer = setTimeout(late, seconds * 1000)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** Identifies the caller again if the service keeps the account. Throws `invalid_token`. */
async function identify({ service, store }: EventSources, asked: Subscription): Promise<Subscription> {
  const { accounts } = service
  if (!asked.session || !accounts) return asked
  return { ...asked, ...(await resumeSession(service, store, accounts, { id: asked.session.id })) }
}

/** The holders of a slot: the caller and the address of the client. */
const holdersOf = ({ caller, client }: Subscription): readonly string[] => [
  ...(caller ? [`caller ${caller.id}`] : []),
  ...(client === undefined ? [] : [`client ${client}`]),
]
