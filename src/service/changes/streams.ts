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
import { createPlaces } from './places.js'
import { createSealedIds } from './sealed-ids.js'
import { checkStanding, checkStandings, NO_CLUES, OVER, type Verdict } from './standing/check-standings.js'
import { type Outcome, Subscriber } from './subscriber.js'
import { END, type Telling, writeReset } from './tell.js'
import { type Subscription, watchList } from './watched-list.js'

/** The streams of changes of a service. */
export interface ChangeStreams {
  /**
   * Opens a stream. Throws `overloaded` beyond `limits.subscribers`, and what the list would throw for who asks.
   */
  open(subscription: Subscription): Promise<TextStream>
  /** Ends all of them. */
  close(): void
}

/** The milliseconds between two comments of a stream (CONTRACT.md §9, "Events"). */
const TICK = 15_000

/** After so many of them it is found out again who listens, and rights that depend on the time are judged anew. */
const TICKS = { identify: 2, time: 4 } as const

/** Creates the streams of a service. Nothing is read, and no timer runs, while there are none. */
export function createChangeStreams(service: Service, changes: ReadLog, store: Store): ChangeStreams {
  const { logger } = service
  const log = inWholeWrites(changes)
  const places = createPlaces(service.plan.limits.subscribers)
  const all = new Set<Subscriber>()
  /** Those who stand where the reader stands. */
  const joined = new Set<Subscriber>()
  let bursts = new Bursts()
  let preparing: Promise<Telling> | undefined
  let isClosed = false

  const prepare = async (): Promise<Telling> => {
    const key = await findEventKey(store)
    const purpose = digest(`event ids ${service.plan.log?.configuration}`)
    return { service, store, log, ids: createSealedIds(key, { purpose, now: service.now }) }
  }
  /** A storage that failed is asked again. */
  const telling = (): Promise<Telling> => {
    preparing ??= prepare().catch((thrown) => {
      preparing = undefined
      throw thrown
    })
    return preparing
  }
  const take = async (page: ChangePage): Promise<string> => {
    const told = await telling()
    if (page.gap) {
      const asked = new Map(Array.from(joined, (subscriber) => [subscriber, NO_CLUES]))
      for (const [subscriber, verdict] of await checkStandings(told, asked))
        await settle(subscriber, beginAgain(verdict, subscriber), page.position)
      bursts = new Bursts()
      return page.position
    }
    const part = bursts.cut(page)
    const outcomes = await bursts.tell(told, joined, part)
    await tellAll(outcomes)
    return part.position
  }
  const fail = (): void => {
    for (const { outbox } of all) outbox.cancel()
  }
  const reader = new LogReader({ log, logger, take, fail })

  /** Finds out what somebody is now: whatever nobody has logged is found so, too. */
  const checkNow = (subscriber: Subscriber): Promise<void> =>
    reader.alone(async () => {
      const verdicts = await checkStandings(await telling(), new Map([[subscriber, NO_CLUES]]))
      await settle(subscriber, verdicts.get(subscriber))
    })
  const checkHost = async (
    subscriber: Subscriber,
    askHost: () => Promise<KnownCaller | null>,
  ): Promise<void> => {
    const caller = await inTime(askHost(), service.plan.limits.requestSeconds)
    await reader.alone(async () => {
      if (caller?.id !== subscriber.caller?.id) return settle(subscriber, OVER)
      const present = { caller, known: [] }
      return settle(subscriber, await checkStanding(await telling(), subscriber, NO_CLUES, present))
    })
  }
  const settle = async (
    subscriber: Subscriber,
    verdict: Verdict = OVER,
    position = reader.position,
  ): Promise<void> => {
    if (verdict.kind === 'over') subscriber.apply({ kind: 'over', text: END })
    if (verdict.kind === 'same' && verdict.as) subscriber.become(verdict.as)
    if (verdict.kind !== 'another') return
    const { list, caller, version } = verdict.as
    const text = await writeReset(await telling(), list, position)
    subscriber.apply({ kind: 'anew', list, caller, version, text })
  }
  const judgeByTime = (subscriber: Subscriber): Promise<void> =>
    reader.alone(async () => beginAnew(await telling(), subscriber, reader.position))

  const tick = async (subscriber: Subscriber, count: number): Promise<void> => {
    const { outbox, subscription, list } = subscriber
    outbox.sendComment()
    if (!joined.has(subscriber)) return
    try {
      if (count % TICKS.identify === 0) {
        if (!subscription.session && subscription.askHost) await checkHost(subscriber, subscription.askHost)
        else if (subscription.session || list.claims.length > 0) await checkNow(subscriber)
      }
      if (count % TICKS.time === 0 && list.isTimed) await judgeByTime(subscriber)
    } catch (cause) {
      logger.error('a stream of changes broke', { cause })
      outbox.cancel()
    }
  }

  const subscribe = async (subscription: Subscription, release: () => void): Promise<Outbox> => {
    const told = await telling()
    await reader.begin()
    // Who asks is looked at behind a place of the log, so that what changes later is found in it.
    return reader.alone(async () => {
      await reader.takeAll()
      const who = await identify(told, subscription)
      const list = await watchList(told, who, who.caller)
      let stopTicking = (): void => {}
      const subscriber = new Subscriber(who, list, () => {
        stopTicking()
        all.delete(subscriber)
        joined.delete(subscriber)
        release()
      })
      const { outbox } = subscriber
      all.add(subscriber)
      stopTicking = startTicking((count) => void tick(subscriber, count))
      const join = (): void => {
        if (!outbox.isOver) joined.add(subscriber)
      }
      const mark = who.after === undefined ? undefined : await told.ids.unseal(who.after)
      if (mark?.digest === list.digest && !list.isTimed) {
        catchUp({ telling: told, reader, subscriber, mark, join }).catch((cause) => {
          logger.error('a stream of changes broke', { cause })
          outbox.cancel()
        })
      } else {
        await beginAnew(told, subscriber, reader.position)
        join()
      }
      return outbox
    })
  }
  return {
    async open(subscription) {
      if (isClosed) throw new ServiceError('overloaded', 'The service is closing.')
      const giveBack = places.take(holdersOf(subscription))
      const release = (): void => {
        giveBack()
        if (places.taken > 0) return
        reader.end()
        bursts = new Bursts()
      }
      try {
        return await subscribe(subscription, release)
      } catch (thrown) {
        release()
        throw thrown
      }
    },
    close() {
      isClosed = true
      for (const { outbox } of all) outbox.end()
      reader.end()
    },
  }
}

/** The same standing too begins anew. */
const beginAgain = (verdict: Verdict, subscriber: Subscriber): Verdict =>
  verdict.kind === 'same' ? { kind: 'another', as: verdict.as ?? subscriber } : verdict

const beginAnew = async (told: Telling, { outbox, list }: Subscriber, position: string): Promise<void> =>
  outbox.send(await writeReset(told, list, position))

/** The steps of handing one event to one client, with what the reading of its stream does at once. */
const STEPS_A_TEXT = 200

/** Tells all, each as its client takes it: who takes time holds up nobody but the next page. */
async function tellAll(outcomes: ReadonlyMap<Subscriber, Outcome>): Promise<void> {
  const patience = createPatience()
  const pace = createEachPace()
  const telling: Promise<void>[] = []
  for (const [subscriber, outcome] of outcomes) {
    const told = subscriber.tell(outcome, patience)
    // What fails is thrown below, not before the others are told.
    told.catch(() => {})
    telling.push(told)
    const pause = pace(STEPS_A_TEXT * (outcome.kind === 'on' ? outcome.texts.length : 1))
    if (pause) await pause
  }
  await Promise.all(telling)
}

/** Ticks until the result is called. A stream must not keep the process alive. */
function startTicking(tick: (count: number) => void): () => void {
  let count = 0
  const timer = setInterval(() => tick(++count), TICK)
  ;(timer as { unref?: () => void }).unref?.()
  return () => clearInterval(timer)
}

/** Rights that nobody confirms do not stay: a host that does not answer counts as one that fails. */
function inTime<T>(answer: Promise<T>, seconds: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new Error('the host did not say in time who calls'))
    const timer = setTimeout(late, seconds * 1000)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** Finds out again who asks, where the service keeps the account. Throws `invalid_token`. */
async function identify({ service, store }: Telling, asked: Subscription): Promise<Subscription> {
  const { accounts } = service
  if (!asked.session || !accounts) return asked
  return { ...asked, ...(await resumeSession(service, store, accounts, asked.session.id)) }
}

/** A caller and an address may each have a part of the places. */
const holdersOf = ({ caller, client }: Subscription): readonly string[] => [
  ...(caller ? [`caller ${caller.id}`] : []),
  ...(client === undefined ? [] : [`client ${client}`]),
]
