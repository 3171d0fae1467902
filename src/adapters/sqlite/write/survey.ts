import type { Filter } from '../../../filter/filter.js'
import type { ListQuery, MaybePromise, WriteOptions, WriteResult, WriteStep } from '../../../storage.js'
import { explain, unavailable } from '../faults.js'
import type { QueuedWrite, WriteQueue } from './write-queue.js'

/** The reads of a write whose `refuse` steps no index answers. */
export interface Surveyor {
  readonly queue: WriteQueue
  /** Whether the search for one match takes long. */
  isLong(collection: string, filter: Filter): boolean
  /** The ids of a list, from a snapshot taken between call and result. */
  listIds(collection: string, query: ListQuery): MaybePromise<readonly string[]>
}

/** The most documents found in advance: one that still matches suffices. */
const MAX_FOUND = 100

/**
 * The most attempts while other processes keep writing; the next one checks inside its transaction, without a pause.
 */
const MAX_ATTEMPTS = 4

/** Thrown if the documents found in advance are out of date. */
const OVERTAKEN = Symbol('overtaken')

/**
 * Writes. If no index answers the filter of a `refuse` step, its matches are searched before the transaction, in
 * slices. In the transaction, only those and the documents written since can match; they are checked again.
 */
export function writeSurveyed(
  surveyor: Surveyor,
  steps: readonly WriteStep[],
  { signal, by = null, caller }: WriteOptions,
): Promise<WriteResult> {
  const long = steps.filter((step) => 'refuse' in step && surveyor.isLong(step.in, step.refuse))
  const plain: QueuedWrite = { steps, signal, by, caller, suspects: () => undefined, verify: () => {} }
  return long.length === 0 ? surveyor.queue.write(plain) : writeLong(surveyor, plain, long)
}

async function writeLong(
  { queue, listIds }: Surveyor,
  plain: QueuedWrite,
  long: readonly WriteStep[],
): Promise<WriteResult> {
  const { signal, caller } = plain
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const watch = queue.watch()
    try {
      const found = new Map<WriteStep, readonly string[]>()
      for (const step of long) {
        if (!('refuse' in step)) continue
        const query = { filter: step.refuse, sort: [], skip: 0, limit: MAX_FOUND }
        const listing = listIds(step.in, {
          ...query,
          ...(signal ? { signal } : {}),
          ...(caller === undefined ? {} : { caller }),
        })
        found.set(step, await untilLeft(listing, signal))
      }
      return await queue.write({
        ...plain,
        verify() {
          if (!watch.holds()) throw OVERTAKEN
        },
        suspects(step) {
          const known = found.get(step)
          return known && suspectsOf(known, watch.written(step.in))
        },
      })
    } catch (thrown) {
      if (thrown !== OVERTAKEN) throw explain(thrown)
    } finally {
      watch.end()
    }
  }
  return queue.write(plain)
}

/** Rejects at once when the caller leaves: nothing was written yet. */
function untilLeft<T>(work: MaybePromise<T>, signal: AbortSignal | undefined): MaybePromise<T> {
  if (!signal || !(work instanceof Promise)) return work
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(unavailable(signal.reason))
    const end = (): void => signal.removeEventListener('abort', leave)
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    work.then(resolve, reject).finally(end)
  })
}

/** If there were more than `MAX_FOUND` matches, one of those found must still match. */
function* suspectsOf(found: readonly string[], written: Iterable<string>): Iterable<string> {
  yield* found
  if (found.length >= MAX_FOUND) throw OVERTAKEN
  yield* written
}
