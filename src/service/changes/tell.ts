import type { Bytes } from '../../json/bytes.js'
import { runSliced } from '../../slices.js'
import type { Change } from '../../storage.js'
import { type EventName, writeFrame } from './frames.js'
import { judgeChanges, type ListEvent, timeOf } from './judge-changes.js'
import type { SealedIds } from './sealed-ids.js'
import { type Clues, changesOfUsers, checkStandings, type IsKnown } from './standing/check-standings.js'
import { Look } from './standing/look.js'
import type { Sources } from './standing/watched-claims.js'
import type { Outcome, Subscriber } from './subscriber.js'
import type { WatchedList } from './watched-list.js'

/** What is needed to tell of changes. */
export interface Telling extends Sources {
  readonly ids: SealedIds
}

/** A part of the log. */
export interface Part {
  readonly changes: readonly Change[]
  /** Behind all of them. */
  readonly position: string
}

const encoder = new TextEncoder()

/** The end of a stream: there is nothing to come back for under this id. */
export const END: Bytes = encoder.encode(writeFrame('end', '{}'))

/** Writes a `reset` of a list at a place of the log. */
export const writeReset = (telling: Telling, list: WatchedList, position: string): Promise<Bytes> =>
  writeEvent(telling, list, { name: 'reset', data: '{}', position, time: telling.service.now() })

interface Placed {
  readonly name: EventName
  readonly data: string
  readonly position: string
  readonly time: number
}

async function writeEvent(
  { ids }: Telling,
  { digest }: WatchedList,
  { name, data, position, time }: Placed,
): Promise<Bytes> {
  return encoder.encode(writeFrame(name, data, await ids.seal({ position, time, digest })))
}

/**
 * Finds out what becomes of subscribers by a part of the log. Lists with equal keys are judged once, and their
 * subscribers get the same bytes. Whose standing changed within the part, or since, begins anew behind it.
 */
export async function tellChanges(
  telling: Telling,
  subscribers: Iterable<Subscriber>,
  part: Part,
  isKnown: IsKnown,
): Promise<ReadonlyMap<Subscriber, Outcome>> {
  const { service } = telling
  const events = new Map<string, readonly ListEvent[]>()
  const ofUsers = changesOfUsers(service, part.changes)
  const asked = new Map<Subscriber, Clues>()
  for (const subscriber of subscribers) {
    const { list } = subscriber
    const known = events.get(list.key)
    const found = known ?? (await judge(telling, list, part.changes))
    if (!known) events.set(list.key, found)
    const look = new Look(subscriber)
    await look.read(telling, part, ofUsers)
    if (found.length > 0 || look.hasClues) asked.set(subscriber, look.clues)
  }
  const verdicts = await checkStandings(telling, asked, isKnown)
  const kept = createTexts(telling, part, events)
  const outcomes = Array.from(asked.keys(), async (subscriber): Promise<[Subscriber, Outcome]> => {
    const verdict = verdicts.get(subscriber)
    if (verdict?.kind === 'over') return [subscriber, { kind: 'over', text: END }]
    if (verdict?.kind !== 'another')
      return [subscriber, { kind: 'on', texts: await kept.events(subscriber.list), as: verdict?.as }]
    return [subscriber, { kind: 'anew', ...verdict.as, text: await kept.reset(verdict.as.list) }]
  })
  return new Map(await Promise.all(outcomes))
}

/** Those of a list that depends on the time are judged one by one. */
async function judge(
  { service }: Telling,
  list: WatchedList,
  changes: readonly Change[],
): Promise<readonly ListEvent[]> {
  const mine = changes.filter((change) => change.in === list.collection)
  const events: ListEvent[] = []
  for (const part of list.isTimed ? mine.map((change) => [change]) : [mine]) {
    if (!part[0]) continue
    const reading = await list.at(timeOf(part[0], service))
    events.push(...(await runSliced((slice) => judgeChanges(list, reading, part, slice))))
  }
  return events
}

/** Writes the texts of each list once, when they are first asked for. */
function createTexts(
  telling: Telling,
  { position }: Part,
  events: ReadonlyMap<string, readonly ListEvent[]>,
) {
  const texts = new Map<string, Promise<readonly Bytes[]>>()
  const resets = new Map<string, Promise<Bytes>>()
  return {
    events(list: WatchedList): Promise<readonly Bytes[]> {
      const known = texts.get(list.key)
      if (known) return known
      const written = Promise.all(
        (events.get(list.key) ?? []).map(({ name, data, change }) =>
          writeEvent(telling, list, { name, data, position: change.position, time: timeIn(telling, change) }),
        ),
      )
      texts.set(list.key, written)
      return written
    },
    reset(list: WatchedList): Promise<Bytes> {
      const known = resets.get(list.key) ?? writeReset(telling, list, position)
      resets.set(list.key, known)
      return known
    },
  }
}

/** When a change was made, by the service's clock: the storage has its own. */
const timeIn = ({ service }: Telling, { time }: Change): number =>
  service.now() - Math.max(0, Date.now() - time)
