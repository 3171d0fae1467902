import type { Filter } from '../../../filter/filter.js'
import { compileJudge, type Judge } from '../../../filter/matches.js'
import { CACHES } from '../../../kept/caches.js'
import { whenReady } from '../../../promises.js'
import type { Slice } from '../../../slices.js'
import type { MaybePromise, StoredDocument } from '../../../storage.js'
import type { Connection } from '../connection/connection.js'
import { readDataVersion } from '../connection/data-version.js'
import { type Change, createFormerDocuments } from '../write/former-documents.js'
import type { WriteListener } from '../write/write-queue.js'

/**
 * Numbers of matches that were counted. They stand as they are in the file: what this process writes is followed, and
 * all is forgotten once another process has written.
 */
export interface KeptCounts extends WriteListener {
  /** The number that is kept, or that of `count`. What is counted by a filter that is not frozen is not kept. */
  count(collection: string, filter: Filter, count: () => MaybePromise<number>): MaybePromise<number>
  forgetAll(): void
}

interface Counted {
  total: number
  readonly filter: Filter
  judge: Judge
  /** The changes that it may still be compared with until it is asked for again. */
  left: number
}

/** The most counts that are kept of a collection. */
const MAX_COUNTS = 512

/** The most conditions of a filter whose count is kept, and the most characters of its JSON. */
const MAX_CONDITIONS = 16
const MAX_LENGTH = 2048

/** The changes with which a count is compared after it was counted, and after it was of use. */
const TRIALS = { new: 16, used: 128 }

/** The steps of all comparisons with what takes effect together: about 0.5 ms. */
const STEPS = 10_000

/** The most steps of a comparison after which a judge remembers nothing of the documents. */
const CHEAP = 500

/** Creates the counts that are kept of the file of a connection. */
export function createKeptCounts(connection: Connection): KeptCounts {
  const collections = new Map<string, Map<string, Counted>>()
  const former = createFormerDocuments(connection)
  let version = readDataVersion(connection)
  /** Is another one behind each write that was noticed. */
  let moment = 0

  const forgetAll = (): void => {
    moment += 1
    collections.clear()
  }
  const noticeOthers = (): void => {
    const before = version
    version = readDataVersion(connection)
    if (version !== before) forgetAll()
  }
  const keep = (collection: string, key: string, counted: Counted): void => {
    const counts = collections.get(collection) ?? new Map<string, Counted>()
    const [oldest] = counts.keys()
    if (counts.size === MAX_COUNTS && oldest !== undefined) counts.delete(oldest)
    collections.set(collection, counts.set(key, counted))
  }
  return {
    count(collection, filter, count) {
      // Filters of queries that come again are frozen; for another one, to keep its count costs half as much as to count.
      const key = CACHES.counts.isOn && Object.isFrozen(filter) ? keyOf(filter) : undefined
      if (key === undefined) return count()
      noticeOthers()
      const known = collections.get(collection)?.get(key)
      if (known) {
        known.left = TRIALS.used
        return known.total
      }
      const before = moment
      return whenReady(count(), (total) => {
        // What was written meanwhile, it may lack.
        if (moment === before)
          keep(collection, key, { total, filter, judge: compileJudge(filter), left: TRIALS.new })
        return total
      })
    },
    begins(steps) {
      if (CACHES.counts.isOn) former.read(steps.filter((step) => collections.get(step.in)?.size))
    },
    tookEffect(steps) {
      moment += 1
      const slice: Slice = { left: STEPS }
      for (const step of steps) {
        const counts = collections.get(step.in)
        if (!counts) continue
        const changes = former.changesOf(step)
        if (!changes) counts.clear()
        for (const change of changes ?? []) follow(counts, change, slice)
      }
      former.forgetAll()
    },
    failed() {
      former.forgetAll()
      forgetAll()
    },
    forgetAll,
  }
}

/** Compares a change with counts; those for which that would take too long are forgotten. */
function follow(counts: Map<string, Counted>, { before, after }: Change, slice: Slice): void {
  for (const [key, counted] of counts) {
    const { left } = slice
    const judge = (document: StoredDocument | null): number | undefined => {
      if (!document) return 0
      const isMatch = counted.left > 0 && slice.left > 0 ? counted.judge(document, slice) : undefined
      return isMatch === undefined ? undefined : Number(isMatch)
    }
    const [lost, won] = [judge(before), judge(after)]
    counted.left -= 1
    slice.left -= 1
    if (lost === undefined || won === undefined) counts.delete(key)
    else {
      counted.total += won - lost
      if (left - slice.left > CHEAP) counted.judge = compileJudge(counted.filter)
    }
  }
}

/** What tells a filter from others; `undefined` where it is large. */
function keyOf(filter: Filter): string | undefined {
  if (countConditions(filter) > MAX_CONDITIONS) return undefined
  const key = JSON.stringify(filter)
  return key.length > MAX_LENGTH ? undefined : key
}

function countConditions(filter: Filter): number {
  if (filter.kind === 'not') return countConditions(filter.filter)
  if (filter.kind !== 'and' && filter.kind !== 'or') return 1
  let count = 0
  for (const part of filter.filters) {
    count += countConditions(part)
    if (count > MAX_CONDITIONS) break
  }
  return count
}
