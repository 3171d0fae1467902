import type { Bytes } from '../json/bytes.js'
import { forEachCounted, inSlices } from '../slices.js'
import type { Change } from '../storage.js'
import { type EventName, judgeChanges, type ListEvent, timeOf } from './judge-changes.js'
import type { SealedIds } from './sealed-ids.js'
import {
  type Clues,
  changesOfUsers,
  checkStandings,
  type IsKnown,
  type Verdict,
} from './standing/check-standings.js'
import { StandingReview } from './standing/standing-review.js'
import type { Sources } from './standing/watched-claims.js'
import type { Subscriber, SubscriberEnd, SubscriberOutcome } from './subscriber.js'
import type { WatchedList } from './watched-list.js'

/** The dependencies of the code that creates events. */
export interface EventSources extends Sources {
  readonly ids: SealedIds
}

/** A part of the log. */
export interface LogPart {
  readonly changes: readonly Change[]
  /** The position after `changes`. */
  readonly position: string
}

/**
 * The cost of one subscriber in steps, without steps that are counted elsewhere: if its list was already evaluated for
 * another subscriber, and if not.
 */
const STEPS_A_SUBSCRIBER = 30
const STEPS_A_LIST = 200

const encoder = new TextEncoder()

/** Writes an event of `text/event-stream`. `data` is JSON without line breaks. */
const writeFrame = (event: EventName, data: string, id?: string): Bytes =>
  encoder.encode(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`)

/** The `end` of a stream: it has no id, because there is nothing to resume. */
export const END: Bytes = writeFrame('end', '{}')

/** Writes a `reset` of a list at a position of the log. */
export const writeReset = (telling: EventSources, list: WatchedList, position: string): Promise<Bytes> =>
  writeEvent(telling, list, { name: 'reset', data: '{}', position, time: telling.service.now() })

interface PositionedEvent {
  readonly name: EventName
  readonly data: string
  readonly position: string
  readonly time: number
}

async function writeEvent(
  { ids }: EventSources,
  { digest }: WatchedList,
  { name, data, position, time }: PositionedEvent,
): Promise<Bytes> {
  return writeFrame(name, data, await ids.seal({ position, time, digest }))
}

/**
 * Computes the outcome of a part of the log for each subscriber. Lists with equal keys are evaluated once, and their
 * subscribers get the same bytes. A subscriber whose standing changed within the part, or since, gets a `reset` for the
 * end of the part.
 */
export async function tellChanges(
  telling: EventSources,
  subscribers: Iterable<Subscriber>,
  part: LogPart,
  isKnown: IsKnown,
): Promise<ReadonlyMap<Subscriber, SubscriberOutcome>> {
  const { service } = telling
  const events = new Map<string, readonly ListEvent[]>()
  const ofUsers = changesOfUsers(service, part.changes)
  const asked = new Map<Subscriber, Clues>()
  // The evaluation of one list usually fits into its first slice; only that of many lists takes long.
  await forEachCounted(subscribers, async (subscriber) => {
    const { list } = subscriber
    const known = events.get(list.key)
    const found = known ?? (await judge(telling, list, part.changes))
    if (!known) events.set(list.key, found)
    const look = new StandingReview(telling, subscriber)
    await look.read(telling, part, ofUsers)
    if (found.length > 0 || look.hasClues) asked.set(subscriber, look.clues)
    return known ? STEPS_A_SUBSCRIBER : STEPS_A_LIST
  })
  const verdicts = await checkStandings(telling, asked, isKnown)
  const texts = await writeTexts(telling, { asked: asked.keys(), verdicts, events })
  const resets = new Map<string, Bytes>()
  const outcomes = new Map<Subscriber, SubscriberOutcome>()
  for (const subscriber of asked.keys()) {
    const verdict = verdicts.get(subscriber)
    const as = verdict?.kind === 'same' ? verdict.as : undefined
    const end = verdict && (await endFor(telling, verdict, part.position, resets))
    outcomes.set(subscriber, end ?? { kind: 'on', texts: texts.get(subscriber.list.key) ?? [], as })
  }
  return outcomes
}

/**
 * Returns the outcome for a subscriber whose stream is over or restarts at a position of the log; `undefined` if its
 * standing is the same. Lists with equal keys share the text of a `reset`, which is kept in `resets`.
 */
export async function endFor(
  telling: EventSources,
  verdict: Verdict,
  position: string,
  resets: Map<string, Bytes> = new Map(),
): Promise<SubscriberEnd | undefined> {
  if (verdict.kind === 'over') return { kind: 'over', text: END }
  if (verdict.kind === 'same') return undefined
  const { list } = verdict.as
  const text = resets.get(list.key) ?? (await writeReset(telling, list, position))
  resets.set(list.key, text)
  return { kind: 'reset', ...verdict.as, text }
}

/** Computes the events of a list. If it depends on the time, each change is evaluated at the time of the change. */
async function judge(
  { service }: EventSources,
  list: WatchedList,
  changes: readonly Change[],
): Promise<readonly ListEvent[]> {
  const mine = changes.filter((change) => change.in === list.collection)
  const events: ListEvent[] = []
  for (const part of list.isTimed ? mine.map((change) => [change]) : [mine]) {
    if (!part[0]) continue
    const reading = await list.at(timeOf(part[0], service))
    events.push(...(await inSlices((slices) => judgeChanges(list, reading, part, slices))))
  }
  return events
}

/** The events to send, before their texts are written. */
interface PendingEvents {
  readonly asked: Iterable<Subscriber>
  readonly verdicts: ReadonlyMap<Subscriber, Verdict>
  /** The events of each list, by its key. */
  readonly events: ReadonlyMap<string, readonly ListEvent[]>
}

/**
 * Writes the texts of events for all subscribers whose streams continue: once for each list. Returns them by the key of
 * the list. Works in groups, because all events together would block the event loop for seconds.
 */
async function writeTexts(
  telling: EventSources,
  found: PendingEvents,
): Promise<ReadonlyMap<string, readonly Bytes[]>> {
  const texts = new Map<string, Bytes[]>()
  const all = eventsToTell(found)
  for (let from = 0; from < all.length; from += SEALED_TOGETHER) {
    const writing = all.slice(from, from + SEALED_TOGETHER).map(async ([list, { name, data, change }]) => {
      const placed = { name, data, position: change.position, time: timeIn(telling, change) }
      return { key: list.key, text: await writeEvent(telling, list, placed) }
    })
    for (const { key, text } of await Promise.all(writing)) {
      const known = texts.get(key)
      if (known) known.push(text)
      else texts.set(key, [text])
    }
  }
  return texts
}

/** The number of ids that the runtime seals in parallel in the background, which takes a few milliseconds. */
const SEALED_TOGETHER = 64

/** Returns the events of each list that has a subscriber whose stream continues. */
function eventsToTell({
  asked,
  verdicts,
  events,
}: PendingEvents): readonly (readonly [WatchedList, ListEvent])[] {
  const lists = new Map<string, WatchedList>()
  for (const subscriber of asked) {
    const kind = verdicts.get(subscriber)?.kind
    if (kind !== 'over' && kind !== 'another' && !lists.has(subscriber.list.key))
      lists.set(subscriber.list.key, subscriber.list)
  }
  return [...lists.values()].flatMap((list) =>
    (events.get(list.key) ?? []).map((event) => [list, event] as const),
  )
}

/** Converts the time of a change from the clock of the storage to the clock of the service. */
const timeIn = ({ service }: EventSources, { time }: Change): number =>
  service.now() - Math.max(0, Date.now() - time)
