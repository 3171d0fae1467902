import { type CompareItems, compileDocumentOrder, mergeSort } from '../../core/filter/compare.js'
import type { Filter } from '../../core/filter/filter.js'
import { compileFilter } from '../../core/filter/matches.js'
import { compareText } from '../../core/json/compare-text.js'
import { freezeCopy, freezeNext } from '../../core/json/freeze-deep.js'
import { CACHES } from '../../core/kept/caches.js'
import { ANY, requireOptions } from '../../core/options.js'
import { runAtOnce, runSliced, type Slice, type Sliced } from '../../core/slices.js'
import type {
  Change,
  ChangePage,
  ChangeQuery,
  ListQuery,
  LogPlan,
  MaybePromise,
  StorageAdapter,
  StoredDocument,
  WriteResult,
  WriteStep,
} from '../../core/storage.js'
import { createLogPlans, type LogPlans } from '../log/log-plans.js'
import { createNotifier } from '../log/notifier.js'
import { isWhole, parsePosition, printPosition } from '../log/position.js'
import { createHeldWarning } from '../log/warn-of-held.js'
import { createPlanner, type Planner, type Scan } from './plan/plan-scan.js'
import { walk } from './plan/walk.js'
import { createDatabase, createRows, type Rows } from './rows.js'

/** The effect of a write step on a document of a collection whose changes are logged. */
interface Touched extends Pick<Change, 'in' | 'before' | 'after'> {
  readonly log: LogPlan
}

/** The change log of an adapter. */
interface ChangeLog {
  /** Records the changes of one write. */
  record(touched: readonly Touched[], by: string | null): void
  readonly changes: NonNullable<StorageAdapter['changes']>
}

/** A change in the log. `bytes` is the size of both documents, `before` and `after`, as JSON. */
type LoggedChange = Omit<Change, 'position'> & { readonly bytes: number }

/**
 * The maximum number of old changes that are dropped for each new change: more than one, so that the log does not grow,
 * but few, so that no write takes long.
 */
const DROPPED = 2

/**
 * Once the array of changes begins with this many dropped changes, and they are at least half of it, they are cut off.
 */
const CUT = 1024

/** Creates an empty log. `documentsOf` returns the current documents of a collection. */
function createChangeLog(
  plans: LogPlans,
  documentsOf: (collection: string) => readonly StoredDocument[],
): ChangeLog {
  let drawn: string | undefined
  /**
   * Returns the name of this log. The name is random, because the next process has another log, and it is generated on
   * first use, because some runtimes allow no random numbers while a module loads.
   */
  const name = (): string => {
    drawn ??= crypto.randomUUID().slice(0, 8)
    return drawn
  }
  const notifier = createNotifier()
  let kept: (LoggedChange | undefined)[] = []
  /** `cut`: the number of changes removed from `kept`. `gone`: the number of dropped changes at the start of `kept`. */
  let cut = 0
  let gone = 0
  let writes = 0
  /** The total size of all changes in `kept`. */
  let bytes = 0
  const warnOfHeld = createHeldWarning()
  const sizes = new WeakMap<StoredDocument, number>()
  /**
   * Returns the size of a document as JSON. The size is cached, because a document is the `after` of one change and the
   * `before` of the next.
   */
  const sizeOf = (stored: StoredDocument | null, left: StoredDocument | null): number => {
    if (!stored) return 0
    const size = sizes.get(stored) ?? JSON.stringify(left).length
    sizes.set(stored, size)
    return size
  }

  const end = (): number => cut + kept.length
  const positionOf = (place: number, time: number): string => printPosition({ log: name(), place, time })

  /**
   * Returns the lowest position among the marks, or infinity if there is none. A mark is a log position that a document
   * stores, so that later changes are not dropped.
   */
  const findMark = (): number => {
    let first = Number.POSITIVE_INFINITY
    for (const [collection, property] of plans.marks)
      for (const { [property]: mark } of documentsOf(collection)) {
        const position = typeof mark === 'string' ? parsePosition(mark, isWhole) : undefined
        if (position?.log === name()) first = Math.min(first, position.place)
      }
    return first
  }
  const drop = (most: number): void => {
    const { unmarked, any } = plans.horizon(Date.now())
    let mark: number | undefined
    let isHeld = false
    for (let i = 0; ; i++) {
      const oldest = kept[gone]
      // Changes beyond the byte limit are dropped even if there are more than `most`. On average each new change causes
      // one such drop, so no write takes long.
      const isBeyond = bytes > plans.bytes() && gone < kept.length - 1
      if (!oldest || !(isBeyond || (i < most && oldest.time < unmarked))) break
      mark ??= findMark()
      isHeld = isBeyond && cut + gone >= mark && oldest.time >= any
      if (cut + gone >= mark && oldest.time >= any) break
      bytes -= oldest.bytes
      kept[gone] = undefined
      gone += 1
    }
    warnOfHeld(isHeld)
    if (gone < CUT || gone * 2 < kept.length) return
    kept = kept.slice(gone)
    cut += gone
    gone = 0
  }

  const read = (after: string | null, limit: number): ChangePage => {
    const from = after === null ? { log: name(), place: end() } : parsePosition(after, isWhole)
    const isKnown = from?.log === name() && from.place >= cut + gone && from.place <= end()
    const start = isKnown ? from.place : cut + gone
    const found = kept.slice(start - cut, start - cut + limit).flatMap((change) => change ?? [])
    const changes = found.map(({ bytes: _, ...change }, i) => ({
      ...change,
      position: positionOf(start + i + 1, change.time),
    }))
    const position = changes.at(-1)?.position ?? positionOf(start, Date.now())
    return { changes, position, more: start + changes.length < end(), gap: !isKnown }
  }

  return {
    record(touched, by) {
      const time = Date.now()
      const changes = touched.length === 1 ? touched : mergeTouched(touched)
      const write = ++writes
      for (const { in: collection, before: old, after: young, log } of changes) {
        const [before, after] = [leaveOut(old, log), leaveOut(young, log)]
        const size = sizeOf(old, before) + sizeOf(young, after)
        bytes += size
        const id = (old ?? young)?._id ?? ''
        kept.push({ in: collection, id, before, after, write, time, by, bytes: size })
      }
      drop(changes.length * DROPPED)
      notifier.notify()
    },
    changes: (after: string | null, query: ChangeQuery) =>
      notifier.readWhenNotified(
        async () => {
          drop(query.limit)
          return read(after, query.limit)
        },
        after === null ? { ...query, wait: 0 } : query,
      ),
  }
}

/**
 * Merges the changes to the same document into one change, sorted by id. Omits a document that existed neither before
 * nor after the write.
 */
function mergeTouched(touched: readonly Touched[]): readonly Touched[] {
  const changes = new Map<string, Touched>()
  for (const one of touched) {
    const key = `${one.in} ${idOf(one)}`
    const first = changes.get(key)
    changes.set(key, first ? { ...one, before: first.before } : one)
  }
  return [...changes.values()]
    .filter(({ before, after }) => before !== null || after !== null)
    .sort((a, b) => compareText(idOf(a), idOf(b)) || compareText(a.in, b.in))
}

const idOf = ({ before, after }: Touched): string => (before ?? after)?._id ?? ''

/** Returns the document without the properties that the log omits, or the same object if it has none of them. */
function leaveOut(document: StoredDocument | null, { omit }: LogPlan): StoredDocument | null {
  if (document === null || !omit.some((property) => Object.hasOwn(document, property))) return document
  const left = Object.entries(document).filter(([property]) => !omit.includes(property))
  return Object.freeze(Object.fromEntries(left)) as StoredDocument
}

type FailedWrite = Extract<WriteResult, { readonly ok: false }>

/** A collection, its planner, and how its changes are logged. */
interface HeldCollection {
  readonly rows: Rows
  readonly plan: Planner
  readonly log: LogPlan | undefined
}

/** The effect of a write step on a document. */
interface AppliedStep extends Omit<Touched, 'log'>, Pick<HeldCollection, 'rows' | 'log'> {}

const isLogged = (done: AppliedStep): done is AppliedStep & Touched => done.log !== undefined

/** Applies the steps in order. If a step fails, the effects of the earlier steps are undone. */
function writeSteps(
  steps: readonly WriteStep[],
  find: (name: string) => HeldCollection,
  log: ChangeLog,
  by: string | null,
): WriteResult {
  const done: AppliedStep[] = []
  for (const [i, step] of steps.entries()) {
    const refusal = applyStep(step, find(step.in), done)
    if (!refusal) continue
    for (const one of done.reverse()) takeBack(one)
    return { ok: false, step: i, ...refusal }
  }
  tidyAll(done)
  const touched = done.filter(isLogged)
  if (touched.length > 0) log.record(touched, by)
  return { ok: true, removed: done.filter(({ after }) => !after).length }
}

/**
 * Sorts pending insertions after a write, usually once per collection, because the steps of a collection are usually
 * adjacent.
 */
function tidyAll(done: readonly AppliedStep[]): void {
  let last: Rows | undefined
  for (const { rows } of done) {
    if (rows !== last) rows.tidy()
    last = rows
  }
}

function takeBack({ rows, before, after }: AppliedStep): void {
  if (before && after) rows.replace(before)
  else if (before) rows.insert(before)
  else if (after) rows.remove(after._id)
}

/** Applies one step. Returns the reason if the step fails. */
function applyStep(
  step: WriteStep,
  { rows, plan, log }: HeldCollection,
  done: AppliedStep[],
): Pick<FailedWrite, 'reason' | 'fields'> | undefined {
  if ('insert' in step) {
    const document = freezeCopy(step.insert)
    if (rows.get(document._id)) return { reason: 'unique', fields: ['_id'] }
    const taken = findTaken(rows, document)
    if (taken) return taken
    rows.insert(document)
    done.push({ in: step.in, before: null, after: document, log, rows })
    return undefined
  }
  if ('replace' in step) {
    const before = rows.get(step.replace._id)?.document
    if (before?._version !== step.version) return { reason: 'changed' }
    const document = freezeNext(step.replace, before)
    const taken = findTaken(rows, document)
    if (taken) return taken
    rows.replace(document)
    done.push({ in: step.in, before, after: document, log, rows })
    return undefined
  }
  if ('remove' in step) {
    const found = findMatching(plan, step.remove)
    if (step.expect !== undefined && step.expect !== found.length) return { reason: 'changed' }
    for (const document of found) {
      rows.remove(document._id)
      done.push({ in: step.in, before: document, after: null, log, rows })
    }
    return undefined
  }
  if ('require' in step) {
    const document = rows.get(step.require)?.document
    if (!document) return { reason: 'missing' }
    const isAsRequired =
      (step.version ?? document._version) === document._version &&
      (step.where === undefined || compileFilter(step.where)(document))
    return isAsRequired ? undefined : { reason: 'changed' }
  }
  return findMatching(plan, step.refuse).length > 0 ? { reason: 'found' } : undefined
}

function findMatching(plan: Planner, filter: Filter): readonly StoredDocument[] {
  const found: StoredDocument[] = []
  const scan = plan(filter, [])
  runAtOnce((slice) => walk(scan, slice, (document) => found.push(document) > 0))
  return found
}

function findTaken(
  { unique }: Rows,
  document: StoredDocument,
): Pick<FailedWrite, 'reason' | 'fields'> | undefined {
  const index = unique.find((candidate) => candidate.findConflict(document) !== undefined)
  return index && { reason: 'unique', fields: index.fields.map(({ path }) => path) }
}

/** The options of `createMemoryAdapter`. */
export interface MemoryAdapterOptions {
  /**
   * The initial documents of each collection. When the service opens, they are validated like request bodies and their
   * secrets are hashed. A document that has an `_id` (a UUID), `createdAt`, `updatedAt` or `createdBy` keeps it.
   */
  readonly documents?: { readonly [collection: string]: readonly unknown[] }
}

/**
 * Creates an adapter that keeps documents in the memory of this process, in LokiJS, until the process ends. Each write
 * is one synchronous operation. Documents are frozen, and readers receive the stored objects. Throws `ConfigError`.
 *
 * @example
 * ```ts
 * const adapter = createMemoryAdapter({ documents: { notes: [{ text: 'Hello' }] } })
 * const service = createCollectionService(config, adapter)
 * ```
 */
export const createMemoryAdapter = (options: MemoryAdapterOptions = {}): StorageAdapter =>
  createMemoryStorage(options)

/** Like `createMemoryAdapter`, but the rows are created by `makeRows`, so that tests can count visited rows. */
export function createMemoryStorage(options: MemoryAdapterOptions, makeRows = createRows): StorageAdapter {
  requireOptions(options, { documents: ANY })
  const database = createDatabase()
  const collections = new Map<string, HeldCollection>()
  const logPlans = createLogPlans()

  const find = (name: string): HeldCollection => {
    const held = collections.get(name)
    if (!held)
      throw new Error(`the adapter was opened without a plan for the collection ${JSON.stringify(name)}`)
    return held
  }
  const log = createChangeLog(logPlans, (name) => find(name).rows.byId.copyDocuments())

  return {
    system: 'memory',
    ...(options.documents === undefined ? {} : { seed: options.documents }),
    async open(plans) {
      logPlans.add(plans)
      const inForce: (() => void)[] = []
      for (const { name, indexes } of plans) {
        const rows = collections.get(name)?.rows ?? makeRows(database, name)
        const { plan } = collections.get(name) ?? { plan: createPlanner(rows) }
        collections.set(name, { rows, plan, log: logPlans.of(name) })
        // Indexes that other services created remain.
        for (const { fields, unique } of indexes) {
          if (unique) inForce.push(rows.prepareUnique(fields))
          rows.addSorted(fields)
        }
      }
      // Constraints are enforced only after all were prepared, so that a failed start enforces none of them.
      for (const put of inForce) put()
    },
    list: (name, query) => listDocuments(find(name), query),
    async *stream(name, query) {
      const documents = await listDocuments(find(name), query)
      for (let i = 0; i < documents.length && !query.signal?.aborted; i += BATCH)
        yield documents.slice(i, i + BATCH)
    },
    count: (name, filter, options) => countDocuments(find(name), filter, () => options.signal),
    write: (steps, { by = null }) => writeSteps(steps, find, log, by),
    changes: log.changes,
    state: (names) => names.map((name) => find(name).rows.byId.documents.version).join(),
    async close() {},
  }
}

/** The number of documents in one batch of a stream. */
const BATCH = 500

/**
 * The maximum number of documents that are listed without a pause, if they are a range that is already in order and in
 * which each document is a match.
 */
const AT_ONCE = 2000

/** The maximum length of a list that is cached until the next write. */
const MAX_KEPT = 101

function listDocuments({ plan }: HeldCollection, query: ListQuery): MaybePromise<readonly StoredDocument[]> {
  const { filter, sort, skip, limit } = query
  const scan = plan(filter, sort)
  const { length } = scan.candidates
  const count = Math.min(length - skip, limit ?? length)
  if (scan.isSorted && scan.isExact && count <= AT_ONCE) return takeFirst(scan, skip, count)
  return runSliced(
    (slice) => searchDocuments(scan, query, slice),
    () => query.signal,
  )
}

function takeFirst(scan: Scan, skip: number, count: number): readonly StoredDocument[] {
  const taken = CACHES.taken.isOn ? scan.taken : undefined
  if (taken?.skip === skip && taken.count === count) return taken.documents
  const documents: StoredDocument[] = []
  if (count <= 0) return documents
  scan.candidates.walk(skip, (document) => documents.push(document) < count)
  if (count <= MAX_KEPT) scan.taken = { skip, count, documents }
  return documents
}

/** Up to this many items are kept sorted while they are added. A longer list is sorted at the end. */
const MAX_SORTED = 1000

/** Accepts items one by one and returns the first `count` of them in sorted order. */
interface Sorter<T> {
  add(item: T, slice: Slice): void
  /** Returns the items in sorted order. Sorts in slices. */
  finish(slice: Slice): Sliced<readonly T[]>
}

/** Creates a sorter that returns the first `count` items. */
export function createSorter<T>(order: CompareItems<T>, count: number): Sorter<T> {
  const kept: T[] = []
  if (count > MAX_SORTED) {
    return {
      add: (item) => void kept.push(item),
      finish: (slice) => sortFirst(kept, order, count, slice),
    }
  }
  return {
    add(item, slice) {
      if (count === 0 || (kept.length >= count && order(item, kept[count - 1] as T, slice) >= 0)) return
      const place = findPlace(kept, item, order, slice)
      slice.left -= 1 + ((kept.length - place) >> 5)
      kept.splice(place, 0, item)
      if (kept.length > count) kept.pop()
    },
    finish: () => giveAll(kept),
  }
}

function* sortFirst<T>(
  items: T[],
  order: CompareItems<T>,
  count: number,
  slice: Slice,
): Sliced<readonly T[]> {
  const sorted = yield* mergeSort(items, order, slice)
  return count < sorted.length ? sorted.slice(0, count) : sorted
}

// biome-ignore lint/correctness/useYield: the items are already sorted, so there is nothing to pause for
function* giveAll<T>(items: readonly T[]): Sliced<readonly T[]> {
  return items
}

/** Returns the index at which to insert an item into a sorted list. */
function findPlace<T>(sorted: readonly T[], item: T, order: CompareItems<T>, slice: Slice): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (order(sorted[middle] as T, item, slice) <= 0) low = middle + 1
    else high = middle
  }
  return low
}

function* searchDocuments(
  scan: Scan,
  { sort, skip, limit }: ListQuery,
  slice: Slice,
): Sliced<readonly StoredDocument[]> {
  const end = limit === null ? Number.POSITIVE_INFINITY : skip + limit
  if (scan.isSorted) {
    const taken: StoredDocument[] = []
    let passed = 0
    if (end === 0) return taken
    yield* walk(scan, slice, (document) => {
      if (passed >= skip) taken.push(document)
      passed += 1
      return passed < end
    })
    return taken
  }
  const sorter = createSorter<StoredDocument>(compileDocumentOrder(sort), end)
  yield* walk(scan, slice, (document) => {
    sorter.add(document, slice)
    return true
  })
  const sorted = yield* sorter.finish(slice)
  return skip === 0 ? sorted : sorted.slice(skip)
}

function countDocuments(
  { plan }: HeldCollection,
  filter: Filter,
  signal: () => AbortSignal | undefined,
): MaybePromise<number> {
  const scan = plan(filter, UNSORTED)
  return scan.isExact ? scan.candidates.length : runSliced((slice) => countMatches(scan, slice), signal)
}

const UNSORTED: ListQuery['sort'] = Object.freeze([])

function* countMatches(scan: Scan, slice: Slice): Sliced<number> {
  let total = 0
  yield* walk(scan, slice, () => {
    total += 1
    return true
  })
  return total
}
