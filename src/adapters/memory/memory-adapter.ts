import type { Filter } from '../../filter/filter.js'
import { compileDocumentOrder, createSorter } from '../../filter/order.js'
import { CACHES } from '../../kept/caches.js'
import { ANY, requireOptions } from '../../options.js'
import { runSliced, type Slice, type Sliced } from '../../slices.js'
import type { ListQuery, MaybePromise, StorageAdapter, StoredDocument } from '../../storage.js'
import { createLogPlans } from '../log/log-plans.js'
import { createChangeLog } from './log/change-log.js'
import { createPlanner, type Scan } from './plan/plan-scan.js'
import { walk } from './plan/walk.js'
import { createDatabase, createRows } from './rows.js'
import { type HeldCollection, writeSteps } from './write-steps.js'

/** The options of `createMemoryAdapter`. */
export interface MemoryAdapterOptions {
  /**
   * The first documents, by collection. They are validated like bodies when the service opens, and secrets are
   * hashed; a given `_id` (a UUID), `createdAt`, `updatedAt` and `createdBy` are kept.
   */
  readonly documents?: { readonly [collection: string]: readonly unknown[] }
}

/**
 * Creates an adapter that keeps documents in this process, in LokiJS, until it ends. Every write is one
 * synchronous turn; documents are frozen and shared with those who read them. Throws `ConfigError`.
 *
 * @example
 * ```ts
 * const adapter = createMemoryAdapter({ documents: { notes: [{ text: 'Hello' }] } })
 * const service = createCollectionService(config, adapter)
 * ```
 */
export const createMemoryAdapter = (options: MemoryAdapterOptions = {}): StorageAdapter =>
  createMemoryStorage(options)

/** The same with rows that `makeRows` creates: tests count the rows that are visited. */
export function createMemoryStorage(options: MemoryAdapterOptions, makeRows = createRows): StorageAdapter {
  requireOptions(options, { documents: ANY })
  const database = createDatabase()
  const collections = new Map<string, HeldCollection>()
  const logPlans = createLogPlans()

  const find = (name: string): HeldCollection => {
    const held = collections.get(name)
    if (!held) throw new Error(`the adapter was opened without a collection ${JSON.stringify(name)}`)
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
        // The structures of other services stay.
        for (const { fields, unique } of indexes) {
          if (unique) inForce.push(rows.prepareUnique(fields))
          rows.addSorted(fields)
        }
      }
      // All or none: a failed start must not leave constraints in force.
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

/** The number of documents of one batch of a stream. */
const BATCH = 500

/** The most documents that are listed at once, if each document of a range is a match, in order. */
const AT_ONCE = 2000

/** The most documents of a list that are cached until the next write. */
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
