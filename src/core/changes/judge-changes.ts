import { type ListRequest, printOne } from '../documents/read/print-documents.js'
import { formatTimestamp } from '../fields/timestamp.js'
import { compileJudge, type Judge, judgeSliced } from '../filter/matches.js'
import { readOwn } from '../json/own-properties.js'
import { whenReady } from '../promises.js'
import type { Service } from '../request/call.js'
import { forEachSliced, type Sliced, stepsToWrite } from '../slices.js'
import type { Change, StoredDocument } from '../storage.js'
import type { WatchedList } from './watched-list.js'

/** The names of events (CONTRACT.md §9, "Events"). */
export type EventName = 'reset' | 'enter' | 'change' | 'leave' | 'end'

/** An event that a change causes in a list. */
export interface ListEvent {
  readonly name: EventName
  /** JSON. */
  readonly data: string
  readonly change: Change
}

/** A list, prepared for evaluation: its access and query, and the test whether a document is in it. */
interface View {
  readonly reading: ListRequest
  readonly judge: Judge
}

/**
 * Computes the events that changes cause in a list. They depend only on how the caller sees each document before and
 * after the change (CONTRACT.md §9, "Events").
 */
export const judgeChanges: Sliced<
  [list: Pick<WatchedList, 'collection'>, reading: ListRequest, changes: readonly Change[]],
  readonly ListEvent[]
> = ({ collection }, reading, changes, slices) => {
  const events: ListEvent[] = []
  let judge: Judge | undefined
  const judging = forEachSliced(slices, changes, (change) => {
    slices.left -= 1
    if (change.in !== collection) return undefined
    // Compiled for the first change, because most pages have none of the list.
    judge ??= compileJudge(reading.access.restrict(reading.query.filter))
    const view = { reading, judge }
    const { before, after } = change
    return whenReady(see(before, view, slices), (was) =>
      whenReady(see(after, view, slices), (is) => {
        const event = compareViews(was, is, change)
        if (event) events.push(event)
      }),
    )
  })
  return whenReady(judging, () => events)
}

/** The JSON text of a document as the list shows it; `undefined` if the list does not contain it. */
const see: Sliced<[document: StoredDocument | null, view: View], string | undefined> = (
  document,
  { reading, judge },
  slices,
) =>
  document === null
    ? undefined
    : whenReady(judgeSliced(judge, document, slices), (isThere) => {
        if (!isThere) return undefined
        const text = printOne(document, reading)
        slices.left -= stepsToWrite(text.length)
        return text
      })

/**
 * Compares a document before and after a change. A `leave` does not reveal whether the document was deleted, is hidden
 * or no longer matches.
 */
function compareViews(
  before: string | undefined,
  after: string | undefined,
  change: Change,
): ListEvent | undefined {
  if (before === after) return undefined
  if (after === undefined) return { name: 'leave', data: JSON.stringify({ _id: change.id }), change }
  return { name: before === undefined ? 'enter' : 'change', data: after, change }
}

/**
 * The time at which a change is evaluated: `updatedAt` of the written document. For a delete it is the time of the
 * change in storage, or the `updatedAt` of the deleted document if that is later, because the clock of the storage may
 * lag. If the host provides the clock, a delete is evaluated at the current time.
 */
export function timeOf(
  { before, after, time }: Change,
  { now, clock }: Pick<Service, 'now' | 'clock'>,
): string {
  const [was, is] = [before, after].map((one) => one && readOwn(one, 'updatedAt'))
  if (typeof is === 'string') return is
  const made = now === Date.now ? formatTimestamp(Math.min(time, now())) : undefined
  if (made === undefined) return clock()
  return typeof was === 'string' && was > made ? was : made
}
