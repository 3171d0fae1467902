import { type FieldRef, isEverything } from '../../filter/filter.js'
import { compileFilter, type Predicate } from '../../filter/matches.js'
import type {
  CollectionPlan,
  ListQuery,
  StorageAdapter,
  StoredDocument,
  WriteResult,
  WriteStep,
} from '../../storage.js'
import { freezeCopy } from './freeze.js'
import { takeSorted } from './order.js'
import { planScan } from './plan-scan.js'
import { createDatabase, createRows, type Row, type Rows } from './rows.js'
import { createUniqueIndex, type UniqueIndex } from './unique-index.js'

interface MemoryCollection {
  readonly rows: Rows
  readonly indexes: readonly UniqueIndex[]
}

type Refusal = Extract<WriteResult, { readonly ok: false }>

export interface MemoryAdapterOptions {
  /**
   * Documents to begin with, by collection. They are checked like bodies when the service opens, secrets are hashed;
   * a given `_id` (a UUID), `createdAt`, `updatedAt` and `createdBy` are kept.
   */
  readonly documents?: { readonly [collection: string]: readonly unknown[] }
}

/**
 * Keeps documents in this process, in LokiJS, until it ends. Every write is one synchronous turn; documents are frozen
 * and shared with those who read them.
 */
export function createMemoryAdapter(options: MemoryAdapterOptions = {}): StorageAdapter {
  const database = createDatabase()
  const collections = new Map<string, MemoryCollection>()

  const find = (name: string): MemoryCollection => {
    const collection = collections.get(name)
    if (!collection) throw new Error(`the adapter was opened without a collection ${JSON.stringify(name)}`)
    return collection
  }

  return {
    ...(options.documents === undefined ? {} : { seed: options.documents }),
    async open(plans) {
      for (const plan of plans) openCollection(collections, plan, () => createRows(database, plan.name))
    },
    async list(name, query) {
      return listDocuments(find(name), query)
    },
    async count(name, filter) {
      const { rows, indexes } = find(name)
      if (isEverything(filter)) return rows.size
      const matches = compileFilter(filter)
      let total = 0
      for (const { document } of planScan(filter, rows, indexes, false)) if (matches(document)) total += 1
      return total
    },
    async write(steps) {
      return writeAll(steps, find)
    },
    async close() {},
  }
}

/** Adds what a plan asks for; what another service has asked for before stays. */
function openCollection(
  collections: Map<string, MemoryCollection>,
  { name, indexes }: CollectionPlan,
  create: () => Rows,
): void {
  const collection = collections.get(name) ?? { rows: create(), indexes: [] }
  const known = new Set(collection.indexes.map(({ fields }) => JSON.stringify(fields)))
  const added = indexes
    .filter(({ unique, fields }) => unique && !known.has(JSON.stringify(fields)))
    .map(({ fields }) => buildUniqueIndex(name, fields, collection.rows))
  collections.set(name, { rows: collection.rows, indexes: [...collection.indexes, ...added] })
}

function buildUniqueIndex(name: string, fields: readonly FieldRef[], rows: Rows): UniqueIndex {
  const index = createUniqueIndex(fields)
  for (const { document } of rows.inOrder()) {
    if (index.findConflict(document) !== undefined) {
      const names = fields.map(({ path }) => path).join(' and ')
      throw new Error(`documents of ${name} have the same ${names}, which is to be unique`)
    }
    index.add(document)
  }
  return index
}

function listDocuments({ rows, indexes }: MemoryCollection, query: ListQuery): readonly StoredDocument[] {
  const { filter, sort, skip, limit } = query
  const end = limit === null ? Number.POSITIVE_INFINITY : skip + limit
  const matches = compileFilter(filter)
  const [first] = sort
  const isById = first?.field.path === '_id' && !first.descending
  const isInOrder = !first || isById
  const candidates = planScan(filter, rows, indexes, isById)
  return isInOrder
    ? takeInOrder(candidates, matches, skip, end)
    : takeSorted(candidates, matches, sort, end).slice(skip)
}

/** The documents that match from `skip` to `end`, in the order in which they come. */
function takeInOrder(
  rows: readonly Row[],
  matches: Predicate,
  skip: number,
  end: number,
): readonly StoredDocument[] {
  const taken: StoredDocument[] = []
  let passed = 0
  for (const { document } of rows) {
    if (passed >= end) break
    if (!matches(document)) continue
    if (passed >= skip) taken.push(document)
    passed += 1
  }
  return taken
}

/** Applies the steps in turn; the first that fails has all before it taken back. */
function writeAll(steps: readonly WriteStep[], find: (name: string) => MemoryCollection): WriteResult {
  const undo: (() => void)[] = []
  let removed = 0
  for (const [i, step] of steps.entries()) {
    const outcome = applyStep(step, find(step.in), undo)
    if (typeof outcome === 'number') removed += outcome
    else {
      for (const takeBack of undo.reverse()) takeBack()
      return { ok: false, step: i, ...outcome }
    }
  }
  return { ok: true, removed }
}

/** Applies one step: how many documents it removed, or why it cannot be. */
function applyStep(
  step: WriteStep,
  collection: MemoryCollection,
  undo: (() => void)[],
): number | Pick<Refusal, 'reason' | 'fields'> {
  const { rows, indexes } = collection
  if ('insert' in step) {
    const document = freezeCopy(step.insert)
    if (rows.get(document._id)) return { reason: 'unique', fields: ['_id'] }
    const taken = findTaken(indexes, document)
    if (taken) return taken
    insert(collection, document)
    undo.push(() => remove(collection, document))
    return 0
  }
  if ('replace' in step) {
    const before = rows.get(step.replace._id)?.document
    if (before?._version !== step.version) return { reason: 'changed' }
    const document = freezeCopy(step.replace)
    const taken = findTaken(indexes, document)
    if (taken) return taken
    replace(collection, before, document)
    undo.push(() => replace(collection, document, before))
    return 0
  }
  if ('remove' in step) {
    const matches = compileFilter(step.remove)
    const doomed = planScan(step.remove, rows, indexes, false)
      .map(({ document }) => document)
      .filter(matches)
    if (step.expect !== undefined && step.expect !== doomed.length) return { reason: 'changed' }
    for (const document of doomed) {
      remove(collection, document)
      undo.push(() => insert(collection, document))
    }
    return doomed.length
  }
  if ('require' in step) return rows.get(step.require) ? 0 : { reason: 'missing' }
  const refused = compileFilter(step.refuse)
  for (const { document } of planScan(step.refuse, rows, indexes, false)) {
    if (refused(document)) return { reason: 'found' }
  }
  return 0
}

function findTaken(
  indexes: readonly UniqueIndex[],
  document: StoredDocument,
): Pick<Refusal, 'reason' | 'fields'> | undefined {
  const index = indexes.find((candidate) => candidate.findConflict(document) !== undefined)
  return index && { reason: 'unique', fields: index.fields.map(({ path }) => path) }
}

function insert({ rows, indexes }: MemoryCollection, document: StoredDocument): void {
  rows.insert(document)
  for (const index of indexes) index.add(document)
}

function replace({ rows, indexes }: MemoryCollection, before: StoredDocument, after: StoredDocument): void {
  for (const index of indexes) index.remove(before)
  rows.replace(after)
  for (const index of indexes) index.add(after)
}

function remove({ rows, indexes }: MemoryCollection, document: StoredDocument): void {
  rows.remove(document._id)
  for (const index of indexes) index.remove(document)
}
