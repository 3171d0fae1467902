import { foldDocuments } from '../../core/aggregates/fold.js'
import { type CompareItems, compileDocumentOrder, findPlace } from '../../core/filter/compare.js'
import { compileJudge, type Judge } from '../../core/filter/matches.js'
import { CACHES } from '../../core/kept/caches.js'
import { whenReady } from '../../core/promises.js'
import { inOneSlice, inSlices, type Slices, sortSliced, untilDone } from '../../core/slices.js'
import type {
  Aggregated,
  AggregateQuery,
  ListQuery,
  MaybePromise,
  StoredDocument,
} from '../../core/storage.js'
import type { Scan } from './plan/plan-scan.js'

/**
 * The maximum number of documents that are listed without a pause, if they are a range that is already in order and in
 * which each document is a match.
 */
const AT_ONCE = 2000

/** The maximum length of a list that is cached until the next write. */
const MAX_KEPT = 101

/** Lists the documents that a scan finds. */
export function listFound(scan: Scan, query: ListQuery): MaybePromise<readonly StoredDocument[]> {
  const { skip, limit } = query
  const { length } = scan.candidates
  const count = Math.min(length - skip, limit ?? length)
  if (scan.isSorted && scan.isExact && count <= AT_ONCE) return takeFirst(scan, skip, count)
  return inSlices(
    (slices) => (scan.isSorted ? takeInOrder(scan, query, slices) : sortFirst(scan, query, slices)),
    () => query.signal,
  )
}

/** Counts the documents that a scan finds. */
export function countFound(scan: Scan, signal: () => AbortSignal | undefined): MaybePromise<number> {
  if (scan.isExact) return scan.candidates.length
  let total = 0
  const count = (): boolean => {
    total += 1
    return true
  }
  return inSlices((slices) => whenReady(walk(scan, slices, count), () => total), signal)
}

/** Groups the documents that a scan finds. */
export function groupFound(scan: Scan, query: AggregateQuery): MaybePromise<Aggregated> {
  const fold = foldDocuments(query)
  return inSlices(
    (slices) =>
      whenReady(
        walk(scan, slices, (document) => fold.add(document, slices)),
        fold.finish,
      ),
    () => query.signal,
  )
}

/** Returns all documents that a scan finds, without a pause. */
export const findAll = (scan: Scan): readonly StoredDocument[] =>
  inOneSlice((slices) => takeInOrder(scan, { skip: 0, limit: null }, slices))

function takeFirst(scan: Scan, skip: number, count: number): readonly StoredDocument[] {
  const taken = CACHES.taken.isOn ? scan.taken : undefined
  if (taken?.skip === skip && taken.count === count) return taken.documents
  const documents: StoredDocument[] = []
  if (count <= 0) return documents
  const cursor = scan.candidates.read(skip)
  for (let left = count; left > 0; left--) {
    const document = cursor.next()
    if (document) documents.push(document)
  }
  if (count <= MAX_KEPT) scan.taken = { skip, count, documents }
  return documents
}

function takeInOrder(
  scan: Scan,
  { skip, limit }: Pick<ListQuery, 'skip' | 'limit'>,
  slices: Slices,
): MaybePromise<readonly StoredDocument[]> {
  const end = limit === null ? Number.POSITIVE_INFINITY : skip + limit
  const taken: StoredDocument[] = []
  let passed = 0
  const take = (document: StoredDocument): boolean => {
    if (passed >= skip) taken.push(document)
    passed += 1
    return passed < end
  }
  return end === 0 ? taken : whenReady(walk(scan, slices, take), () => taken)
}

function sortFirst(
  scan: Scan,
  { sort, skip, limit }: ListQuery,
  slices: Slices,
): MaybePromise<readonly StoredDocument[]> {
  const end = limit === null ? Number.POSITIVE_INFINITY : skip + limit
  const sorter = createSorter<StoredDocument>(compileDocumentOrder(sort), end, slices)
  const walking = walk(scan, slices, (document) => {
    sorter.add(document)
    return true
  })
  const sorting = whenReady(walking, sorter.finish)
  return skip === 0 ? sorting : whenReady(sorting, (sorted) => sorted.slice(skip))
}

/**
 * Passes each match once to `take`, in the order of the candidates, until `take` returns false. At the first pause the
 * remaining documents are copied, so that writes during the pause do not change the result.
 */
function walk(
  { candidates, rests, repeats }: Scan,
  slices: Slices,
  take: (document: StoredDocument) => boolean,
): MaybePromise<void> {
  const judges = rests.map(compileJudge)
  // Comparing by reference suffices, because until the next write all indexes contain the same object for a document.
  const taken = new Set<StoredDocument>()
  const isNew = (document: StoredDocument): boolean => taken.size < taken.add(document).size
  let cursor = candidates.read(0)
  let place = 0
  let isCopied = false
  /** The document whose evaluation continues in the next slice. */
  let judged: StoredDocument | undefined
  const pause = (): false => {
    if (isCopied) return false
    isCopied = true
    judged = undefined
    cursor = candidates.read(place, true)
    return false
  }
  return untilDone(slices, () => {
    for (let document = judged ?? cursor.next(); document; document = cursor.next()) {
      slices.left -= candidates.steps
      const verdict = (judges[cursor.way] as Judge)(document, slices)
      judged = verdict === undefined ? document : undefined
      if (judged) return pause()
      place += 1
      if (verdict && (!repeats || isNew(document)) && !take(document)) return true
      if (slices.left <= 0) return pause()
    }
    return true
  })
}

/** Up to this many items are kept sorted while they are added. A longer list is sorted at the end. */
const MAX_SORTED = 1000

/** Accepts items one by one and returns the first of them in sorted order. */
interface Sorter<T> {
  readonly add: (item: T) => void
  /** Returns the items in sorted order. Sorts in slices. */
  readonly finish: () => MaybePromise<readonly T[]>
}

/** Creates a sorter that returns the first `count` items. */
export function createSorter<T>(order: CompareItems<T>, count: number, slices: Slices): Sorter<T> {
  const kept: T[] = []
  if (count > MAX_SORTED) {
    return {
      add: (item) => void kept.push(item),
      finish: () => whenReady(sortSliced(slices, kept, order), (sorted) => sorted.slice(0, count)),
    }
  }
  return {
    add(item) {
      if (count === 0 || (kept.length >= count && order(item, kept[count - 1] as T, slices) >= 0)) return
      const place = findPlace(0, kept.length, (at) => order(kept[at] as T, item, slices) <= 0)
      slices.left -= 1 + ((kept.length - place) >> 5)
      kept.splice(place, 0, item)
      if (kept.length > count) kept.pop()
    },
    finish: () => kept,
  }
}
