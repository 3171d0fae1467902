import { type Filter, isEverything } from '../../filter/filter.js'
import { compileFilter, compileJudge } from '../../filter/matches.js'
import { compileDocumentOrder, createSorter } from '../../filter/order.js'
import { runSliced, type Slice, type Sliced } from '../../slices.js'
import type {
  ListQuery,
  MaybePromise,
  StorageAdapter,
  StoredDocument,
  WriteResult,
  WriteStep,
} from '../../storage.js'
import type { Candidates } from './candidates.js'
import { freezeCopy } from './freeze.js'
import { createPlanner, type Planner, type Scan } from './plan-scan.js'
import { createDatabase, createRows, type Rows } from './rows.js'
import { walk } from './walk.js'

type Refusal = Extract<WriteResult, { readonly ok: false }>

/** The options of `createMemoryAdapter`. */
export interface MemoryAdapterOptions {
  /**
   * The first documents, by collection. They are validated like bodies when the service opens, and secrets
   * are hashed; a given `_id` (a UUID), `createdAt`, `updatedAt` and `createdBy` are kept.
   */
  readonly documents?: { readonly [collection: string]: readonly unknown[] }
}

/**
 * Creates an adapter that keeps documents in this process, in LokiJS, until it ends. Every write is one
 * synchronous turn; documents are frozen and shared with those who read them.
 *
 * @example
 * ```ts
 * const adapter = createMemoryAdapter({ documents: { notes: [{ text: 'Hello' }] } })
 * const service = createCollectionService(config, adapter)
 * ```
 */
export function createMemoryAdapter(options: MemoryAdapterOptions = {}): StorageAdapter {
  const database = createDatabase()
  const collections = new Map<string, Held>()

  const find = (name: string): Held => {
    const held = collections.get(name)
    if (!held) throw new Error(`the adapter was opened without a collection ${JSON.stringify(name)}`)
    return held
  }

  return {
    ...(options.documents === undefined ? {} : { seed: options.documents }),
    async open(plans) {
      for (const { name, indexes } of plans) {
        const held = collections.get(name) ?? hold(createRows(database, name))
        collections.set(name, held)
        const { rows } = held
        // The structures that another service has asked for stay.
        for (const { fields, unique } of indexes) {
          if (unique) rows.addUnique(fields)
          rows.addSorted(fields)
        }
      }
    },
    list: (name, query) => listDocuments(find(name), query),
    async *stream(name, query) {
      const documents = await listDocuments(find(name), query)
      for (let i = 0; i < documents.length && !query.signal?.aborted; i += BATCH)
        yield documents.slice(i, i + BATCH)
    },
    count: (name, filter, options) => countDocuments(find(name), filter, () => options.signal),
    write: (steps) => writeAll(steps, find),
    async close() {},
  }
}

/** A collection, and where to look in it. */
interface Held {
  readonly rows: Rows
  readonly plan: Planner
}

const hold = (rows: Rows): Held => ({ rows, plan: createPlanner(rows) })

/** The documents of one batch of a stream. */
const BATCH = 500

/** Up to this many documents are taken at once where each of a range is a match, in order. */
const AT_ONCE = 2000

function listDocuments({ plan }: Held, query: ListQuery): MaybePromise<readonly StoredDocument[]> {
  const { filter, sort, skip, limit } = query
  const scan = plan(filter, sort)
  const { length } = scan.candidates
  const count = Math.min(length - skip, limit ?? length)
  if (scan.isSorted && isEverything(scan.rest) && count <= AT_ONCE) return takeFirst(scan, skip, count)
  return runSliced(
    (slice) => searchDocuments(scan, query, slice),
    () => query.signal,
  )
}

function takeFirst({ candidates }: Scan, skip: number, count: number): readonly StoredDocument[] {
  const taken: StoredDocument[] = []
  if (count <= 0) return taken
  candidates.walk(skip, (document) => taken.push(document) < count)
  return taken
}

function* searchDocuments(
  { candidates, rest, isSorted }: Scan,
  { sort, skip, limit }: ListQuery,
  slice: Slice,
): Sliced<readonly StoredDocument[]> {
  const end = limit === null ? Number.POSITIVE_INFINITY : skip + limit
  const judge = compileJudge(rest)
  if (isSorted) {
    const taken: StoredDocument[] = []
    let passed = 0
    if (end === 0) return taken
    yield* walk(candidates, judge, slice, (document) => {
      if (passed >= skip) taken.push(document)
      passed += 1
      return passed < end
    })
    return taken
  }
  const sorter = createSorter<StoredDocument>(compileDocumentOrder(sort), end)
  yield* walk(candidates, judge, slice, (document) => {
    sorter.add(document, slice)
    return true
  })
  const sorted = yield* sorter.finish(slice)
  return skip === 0 ? sorted : sorted.slice(skip)
}

function countDocuments(
  { plan }: Held,
  filter: Filter,
  signal: () => AbortSignal | undefined,
): MaybePromise<number> {
  const { candidates, rest } = plan(filter, UNSORTED)
  return isEverything(rest)
    ? candidates.length
    : runSliced((slice) => countMatches(candidates, rest, slice), signal)
}

const UNSORTED: ListQuery['sort'] = Object.freeze([])

function* countMatches(candidates: Candidates, rest: Filter, slice: Slice): Sliced<number> {
  let total = 0
  yield* walk(candidates, compileJudge(rest), slice, () => {
    total += 1
    return true
  })
  return total
}

/** Applies the steps in turn; if one fails, those before it are undone. */
function writeAll(steps: readonly WriteStep[], find: (name: string) => Held): WriteResult {
  const undo: (() => void)[] = []
  let removed = 0
  let applied = 0
  for (const step of steps) {
    const outcome = applyStep(step, find(step.in), undo)
    if (typeof outcome !== 'number') {
      for (const takeBack of undo.reverse()) takeBack()
      return { ok: false, step: applied, ...outcome }
    }
    removed += outcome
    applied += 1
  }
  return { ok: true, removed }
}

/** Applies one step. Gives the number of documents that it removed, or the reason of its failure. */
function applyStep(
  step: WriteStep,
  { rows, plan }: Held,
  undo: (() => void)[],
): number | Pick<Refusal, 'reason' | 'fields'> {
  if ('insert' in step) {
    const document = freezeCopy(step.insert)
    if (rows.get(document._id)) return { reason: 'unique', fields: ['_id'] }
    const taken = findTaken(rows, document)
    if (taken) return taken
    rows.insert(document)
    undo.push(() => rows.remove(document._id))
    return 0
  }
  if ('replace' in step) {
    const before = rows.get(step.replace._id)?.document
    if (before?._version !== step.version) return { reason: 'changed' }
    const document = freezeCopy(step.replace)
    const taken = findTaken(rows, document)
    if (taken) return taken
    rows.replace(document)
    undo.push(() => rows.replace(before))
    return 0
  }
  if ('remove' in step) {
    const doomed = findMatching(plan, step.remove)
    if (step.expect !== undefined && step.expect !== doomed.length) return { reason: 'changed' }
    for (const document of doomed) {
      rows.remove(document._id)
      undo.push(() => rows.insert(document))
    }
    return doomed.length
  }
  if ('require' in step) {
    const { _version } = rows.get(step.require)?.document ?? {}
    if (_version === undefined) return { reason: 'missing' }
    return (step.version ?? _version) === _version ? 0 : { reason: 'changed' }
  }
  return findMatching(plan, step.refuse).length > 0 ? { reason: 'found' } : 0
}

function findMatching(plan: Planner, filter: Filter): readonly StoredDocument[] {
  const { candidates, rest } = plan(filter, UNSORTED)
  const matches = compileFilter(rest)
  const found: StoredDocument[] = []
  candidates.walk(0, (document) => {
    if (matches(document)) found.push(document)
    return true
  })
  return found
}

function findTaken(
  { unique }: Rows,
  document: StoredDocument,
): Pick<Refusal, 'reason' | 'fields'> | undefined {
  const index = unique.find((candidate) => candidate.findConflict(document) !== undefined)
  return index && { reason: 'unique', fields: index.fields.map(({ path }) => path) }
}
