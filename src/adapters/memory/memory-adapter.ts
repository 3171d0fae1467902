import { compileFilter } from '../../core/filter/matches.js'
import { freezeCopy, freezeNext } from '../../core/json/freeze-deep.js'
import { ANY, requireOptions } from '../../core/options.js'
import type {
  IndexPlan,
  ListQuery,
  LogPlan,
  StorageAdapter,
  StoredDocument,
  WriteOptions,
  WriteResult,
  WriteStep,
} from '../../core/storage.js'
import { LogPlans } from '../log/log-plans.js'
import { ChangeLog, type Touched } from './change-log.js'
import { groupByRanks } from './group-ranks.js'
import { createPlanner, type Planner } from './plan/plan-scan.js'
import { createDatabase, createRows, hasSamePaths, type Rows } from './rows.js'
import { countFound, findAll, groupFound, listFound } from './search.js'
import { createSnapshot } from './snapshot.js'

type FailedWrite = Extract<WriteResult, { readonly ok: false }>

/** A collection, its planner, and how its changes are logged. */
interface HeldCollection {
  readonly rows: Rows
  readonly plan: Planner
  readonly log: LogPlan | undefined
}

/** The effect of a write step on a document. */
interface AppliedStep extends Omit<Touched, 'log'>, Pick<HeldCollection, 'rows' | 'log'> {}

/** Applies the steps in order. If a step fails, the effects of the earlier steps are undone. */
function writeSteps(
  steps: readonly WriteStep[],
  find: (name: string) => HeldCollection,
  log: ChangeLog,
  options: WriteOptions,
): WriteResult {
  const done: AppliedStep[] = []
  for (const [i, step] of steps.entries()) {
    const refusal = applyStep(step, find(step.in), done)
    if (!refusal) continue
    for (const one of done.reverse()) takeBack(one)
    return { ok: false, step: i, ...refusal }
  }
  tidyAll(done)
  const touched = done.filter((one): one is AppliedStep & Touched => one.log !== undefined)
  if (touched.length > 0) log.record(touched, options)
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
    const found = findAll(plan(step.remove, []))
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
  return findAll(plan(step.refuse, [])).length > 0 ? { reason: 'found' } : undefined
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
  const logPlans = new LogPlans()

  const find = (name: string): HeldCollection => {
    const held = collections.get(name)
    if (!held)
      throw new Error(`the adapter was opened without a plan for the collection ${JSON.stringify(name)}`)
    return held
  }
  const log = new ChangeLog(logPlans, (name) => find(name).rows.byId.copyDocuments())

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
    list: (name, query) => listFound(find(name).plan(query.filter, query.sort), query),
    async *stream(name, query) {
      const documents = await listFound(find(name).plan(query.filter, query.sort), query)
      for (let i = 0; i < documents.length && !query.signal?.aborted; i += BATCH)
        yield documents.slice(i, i + BATCH)
    },
    count: (name, filter, options) => countFound(find(name).plan(filter, UNSORTED), () => options.signal),
    aggregate: (name, query) =>
      groupByRanks(find(name).rows, query) ?? groupFound(find(name).plan(query.filter, UNSORTED), query),
    write: (steps, options) => writeSteps(steps, find, log, options),
    changes: (after, query) => log.changes(after, query),
    state: (names) => names.map((name) => find(name).rows.byId.documents.version).join(),
    async snapshot() {
      const entries = Array.from(
        collections,
        ([name, { rows }]) => [name, rows.byId.copyDocuments()] as const,
      )
      return createSnapshot(new Map(entries))
    },
    leftUnique: (plans) =>
      plans.flatMap(({ name, indexes }) => {
        const declared = indexes.filter(({ unique }) => unique).map(pathsOf)
        const all = collections.get(name)?.rows.unique.map(pathsOf) ?? []
        const left = all.filter((fields) => !declared.some((paths) => hasSamePaths(paths, fields)))
        return left.map((fields) => ({ collection: name, fields, mend: MEND }))
      }),
    async dropUnique(collection, fields) {
      const held = collections.get(collection)
      if (!held) return
      held.rows.dropUnique(fields)
      // The plans of the former planner may use the index.
      collections.set(collection, { ...held, plan: createPlanner(held.rows) })
    },
    async close() {},
  }
}

const pathsOf = ({ fields }: Pick<IndexPlan, 'fields'>): readonly string[] => fields.map(({ path }) => path)

/** How a unique index that is left ends. */
const MEND = 'restart the process, or call dropUniqueIndex of collection-service/migrate'

/** The number of documents in one batch of a stream. */
const BATCH = 500

const UNSORTED: ListQuery['sort'] = Object.freeze([])
