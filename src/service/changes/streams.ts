import { digest } from '../../auth/token.js'
import { ServiceError } from '../../errors.js'
import type { KnownCaller } from '../../permissions/caller.js'
import type { ChangePage } from '../../storage.js'
import { resumeSession } from '../accounts/sessions.js'
import type { Service } from '../call.js'
import { createEachPace } from '../pace.js'
import type { TextStream } from '../read/text-stream.js'
import type { ReadLog, Store } from '../store.js'
import { Bursts } from './bursts.js'
import { catchUp } from './catch-up.js'
import { findEventKey } from './event-key.js'
import { LogReader } from './log/log-reader.js'
import { inWholeWrites } from './log/whole-writes.js'
import { createPatience, type Outbox } from './outbox.js'
import { createPlaces, type Places } from './places.js'
import { createSealedIds } from './sealed-ids.js'
import { checkStanding, checkStandings, NO_CLUES, OVER, type Verdict } from './standing/check-standings.js'
import { Subscriber, type SubscriberOutcome } from './subscriber.js'
import { END, type EventSources, writeReset } from './tell.js'
import { type Subscription, type WatchedList, watchList } from './watched-list.js'

/** The streams of changes of a service. */
export interface ChangeStreams {
  /**
   * Opens a stream. Throws `overloaded` beyond `limits.subscribers`, and the errors that the list would throw for the
   * caller.
   */
  open(subscription: Subscription): Promise<TextStream>
  /** Ends all streams. */
  close(): void
}

/** The milliseconds between two comments of a stream (CONTRACT.md §9, "Events"). */
const TICK = 15_000

/**
 * The numbers of ticks after which the caller is identified again, and rights that depend on the time are evaluated
 * again.
 */
const TICKS = { identify: 2, time: 4 } as const

/** Creates the streams of a service. Without streams, nothing is read and no timer runs. */
export const createChangeStreams = (service: Service, changes: ReadLog, store: Store): ChangeStreams =>
  new OpenStreams(service, changes, store)

class OpenStreams implements ChangeStreams {
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

  close(): void {
    this.#isClosed = true
    for (const { outbox } of this.#all) outbox.end()
    this.#reader.end()
  }

  async #subscribe(subscription: Subscription, release: () => void): Promise<Outbox> {
    const reader = this.#reader
    const told = await this.#telling()
    await reader.begin()
    // The caller is read after the log was read up to now, so that later changes are found in the log.
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

  /** Creates a subscriber, whose comments are sent until it ends. */
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
    this.#service.logger.error('a stream of changes failed', { cause })
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

  /** Checks the standing of a subscriber now: this also finds changes that are not logged. */
  #checkNow(subscriber: Subscriber): Promise<void> {
    return this.#reader.alone(async () => {
      const verdicts = await checkStandings(await this.#telling(), new Map([[subscriber, NO_CLUES]]))
      await this.#settle(subscriber, verdicts.get(subscriber))
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

  async #settle(
    subscriber: Subscriber,
    verdict: Verdict = OVER,
    position = this.#reader.position,
  ): Promise<void> {
    if (verdict.kind === 'over') subscriber.apply({ kind: 'over', text: END })
    if (verdict.kind === 'same' && verdict.as) subscriber.become(verdict.as)
    if (verdict.kind !== 'another') return
    const { list, caller, version } = verdict.as
    const text = await writeReset(await this.#telling(), list, position)
    subscriber.apply({ kind: 'anew', list, caller, version, text })
  }

  #judgeByTime(subscriber: Subscriber): Promise<void> {
    return this.#reader.alone(async () => beginAnew(await this.#telling(), subscriber, this.#reader.position))
  }

  /** A failed preparation is retried. */
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
    return { service, store: this.#store, log: this.#log, ids }
  }
}

/** A subscriber with an unchanged standing restarts, too. */
const beginAgain = (verdict: Verdict, subscriber: Subscriber): Verdict =>
  verdict.kind === 'same' ? { kind: 'another', as: verdict.as ?? subscriber } : verdict

const beginAnew = async (told: EventSources, { outbox, list }: Subscriber, position: string): Promise<void> =>
  outbox.send(await writeReset(told, list, position))

/** The steps of handing one event to one client, with the work of reading its stream. */
const STEPS_A_TEXT = 200

/** Sends all outcomes, each as its client takes it: a slow client delays only the next page. */
async function tellAll(outcomes: ReadonlyMap<Subscriber, SubscriberOutcome>): Promise<void> {
  const patience = createPatience()
  const pace = createEachPace()
  const telling: Promise<void>[] = []
  for (const [subscriber, outcome] of outcomes) {
    const told = subscriber.tell(outcome, patience)
    // A failure is thrown below, after the others were sent.
    told.catch(() => {})
    telling.push(told)
    const pause = pace(STEPS_A_TEXT * (outcome.kind === 'on' ? outcome.texts.length : 1))
    if (pause) await pause
  }
  await Promise.all(telling)
}

/** Ticks until the returned function is called. A stream must not keep the process alive. */
function startTicking(tick: (count: number) => void): () => void {
  let count = 0
  const timer = setInterval(() => tick(++count), TICK)
  ;(timer as { unref?: () => void }).unref?.()
  return () => clearInterval(timer)
}

/** Unconfirmed rights must not remain: a host that does not answer in time counts as failed. */
function inTime<T>(answer: Promise<T>, seconds: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new Error('authenticate of the host timed out'))
    const timer = setTimeout(late, seconds * 1000)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** Identifies the caller again if the service keeps the account. Throws `invalid_token`. */
async function identify({ service, store }: EventSources, asked: Subscription): Promise<Subscription> {
  const { accounts } = service
  if (!asked.session || !accounts) return asked
  return { ...asked, ...(await resumeSession(service, store, accounts, asked.session.id)) }
}

/** A caller and an address may each have a share of the places. */
const holdersOf = ({ caller, client }: Subscription): readonly string[] => [
  ...(caller ? [`caller ${caller.id}`] : []),
  ...(client === undefined ? [] : [`client ${client}`]),
]
