import type { Collection } from '../../config/plan.js'
import { HIDDEN } from '../../fields/names.js'
import { type FieldRef, type Filter, mapLeaves } from '../../filter/filter.js'
import { whenReady } from '../../promises.js'
import type {
  AggregateQuery,
  CallOptions,
  Change,
  CollectionPlan,
  GroupPart,
  LeftIndex,
  Linked,
  LinkedList,
  Listed,
  ListedTogether,
  ListQuery,
  Measure,
  SortKey,
  StorageAdapter,
  StoredDocument,
  WriteResult,
  WriteStep,
} from '../../storage.js'
import {
  compileNames,
  declaredPath,
  type FieldNames,
  storedPath,
  storedRef,
  toDeclared,
  toStored,
} from './field-names.js'

/** Converts the documents and the queries of one collection between declared and stored names. */
interface Renaming {
  /** The name of the collection in the storage. */
  readonly stored: string
  readonly names: FieldNames | null
  read(document: StoredDocument): StoredDocument
  write(document: StoredDocument): StoredDocument
  filter(filter: Filter): Filter
  sort(sort: readonly SortKey[]): readonly SortKey[]
  ref(field: FieldRef): FieldRef
}

/**
 * Returns an adapter whose callers use the names of the configuration, while `adapter` uses stored names (CONTRACT.md
 * §1, "Stored names"). Returns `adapter` itself if nothing is stored under another name.
 */
export function renameStorage(
  adapter: StorageAdapter,
  collections: ReadonlyMap<string, Collection>,
): StorageAdapter {
  const byName = new Map<string, Renaming>()
  for (const collection of collections.values()) {
    const renaming = findRenaming(collection)
    if (renaming) byName.set(collection.name, renaming)
  }
  if (byName.size === 0) return adapter
  const renamed = createRenamed(adapter, byName)
  origins.set(renamed, adapter)
  return renamed
}

/** Returns the plan of a collection as `renameStorage` opens it. */
export const storedPlan = (collection: Collection): CollectionPlan =>
  renamePlan(findRenaming(collection), collection.storage)

/** Returns the unique indexes of another configuration that a collection has, by the names of the configuration. */
export const leftOf = (collection: Collection, left: readonly LeftIndex[]): readonly LeftIndex[] =>
  left
    .filter((index) => index.collection === collection.storedName)
    .map((index) => renameLeft(findRenaming(collection), { ...index, collection: collection.name }))

/** Returns a function that gives a stored document of a collection the names of the configuration. */
export const storedReader = (collection: Collection): Naming['read'] => createNaming(collection).read

/** Converts documents between the names of the configuration and stored ones. */
type Naming = Pick<Renaming, 'read' | 'write'>

const namings = new WeakMap<Collection, Naming>()

/** Returns the functions that convert the documents of a collection. */
export function createNaming(collection: Collection): Naming {
  const known = namings.get(collection)
  if (known) return known
  const same = (document: StoredDocument): StoredDocument => document
  const naming = findRenaming(collection) ?? { read: same, write: same }
  namings.set(collection, naming)
  return naming
}

const renamePlan = (renaming: Renaming | undefined, plan: CollectionPlan): CollectionPlan =>
  renaming
    ? {
        ...plan,
        name: renaming.stored,
        indexes: plan.indexes.map((index) => ({ ...index, fields: index.fields.map(renaming.ref) })),
      }
    : plan

/** Describes the fields of a unique index of another configuration by their declared names, if they have any. */
const renameLeft = (renaming: Renaming | undefined, left: LeftIndex): LeftIndex => ({
  ...left,
  fields: left.fields.map((path) => {
    const declared = declaredPath(renaming?.names ?? null, path)
    return declared.startsWith(HIDDEN) ? `${JSON.stringify(path)} in the storage` : declared
  }),
})

const origins = new WeakMap<StorageAdapter, StorageAdapter>()

/** Returns the adapter that `renameStorage` received. */
export const originOf = (adapter: StorageAdapter): StorageAdapter => origins.get(adapter) ?? adapter

/** Returns the renaming of a collection; `undefined` if everything is stored as declared. */
function findRenaming({ name, storedName, fields }: Collection): Renaming | undefined {
  const names = compileNames(fields)
  return names || storedName !== name ? createRenaming(storedName, names) : undefined
}

function createRenaming(stored: string, names: FieldNames | null): Renaming {
  if (!names) {
    const same = <T>(value: T): T => value
    return { stored, names, read: same, write: same, filter: same, sort: same, ref: same }
  }
  // Storages in memory return the same object at each read, for which the service keeps texts.
  const known = new WeakMap<StoredDocument, StoredDocument>()
  const refs = new WeakMap<FieldRef, FieldRef>()
  const ref = (field: FieldRef): FieldRef => {
    const kept = refs.get(field)
    if (kept) return kept
    const renamed = storedRef(names, field)
    refs.set(field, renamed)
    return renamed
  }
  const renameLeaf = (leaf: Filter): Filter =>
    'field' in leaf ? { ...leaf, field: ref(leaf.field) } : renameAll(leaf)
  const renameAll = (filter: Filter): Filter =>
    'filters' in filter ? { ...filter, filters: filter.filters.map(renameLeaf) } : renameLeaf(filter)
  return {
    stored,
    names,
    ref,
    read(document) {
      const kept = known.get(document)
      if (kept) return kept
      const renamed = toDeclared(names, document)
      // Texts and pages are kept only of frozen documents, which are those that the storage returns again.
      const declared = (Object.isFrozen(document) ? Object.freeze(renamed) : renamed) as StoredDocument
      known.set(document, declared)
      return declared
    },
    write: (document) => Object.freeze(toStored(names, document)) as StoredDocument,
    filter: (filter) => mapLeaves(filter, renameAll),
    sort: (sort) => sort.map(({ field, descending }) => ({ field: ref(field), descending })),
  }
}

function createRenamed(adapter: StorageAdapter, byName: ReadonlyMap<string, Renaming>): StorageAdapter {
  const byStored = new Map(Array.from(byName, ([name, { stored }]) => [stored, name]))
  const storedOf = (name: string): string => byName.get(name)?.stored ?? name
  /** The declared name of a stored collection; `undefined` if it only has the name of a collection stored elsewhere. */
  const declaredOf = (stored: string): string | undefined =>
    byStored.get(stored) ?? (byName.has(stored) ? undefined : stored)
  const filterIn = (name: string, filter: Filter): Filter => byName.get(name)?.filter(filter) ?? filter

  const readAll = <T extends readonly StoredDocument[]>(name: string, documents: T): T => {
    const renaming = byName.get(name)
    if (!renaming?.names) return documents
    const { rest } = documents as Listed
    const declared = documents.map(renaming.read)
    return (rest === undefined ? declared : Object.assign(declared, { rest })) as unknown as T
  }

  const renamePlans = (plans: readonly CollectionPlan[]): readonly CollectionPlan[] =>
    plans.map((plan) => renamePlan(byName.get(plan.name), plan))

  const renameStep = (step: WriteStep): WriteStep => {
    const renaming = byName.get(step.in)
    if (!renaming) return step
    const { stored, write, filter } = renaming
    if ('insert' in step) return { ...step, in: stored, insert: write(step.insert) }
    if ('replace' in step) return { ...step, in: stored, replace: write(step.replace) }
    if ('remove' in step) return { ...step, in: stored, remove: filter(step.remove) }
    if ('refuse' in step) return { ...step, in: stored, refuse: filter(step.refuse) }
    return step.where === undefined
      ? { ...step, in: stored }
      : { ...step, in: stored, where: filter(step.where) }
  }

  const readResult = (steps: readonly WriteStep[], result: WriteResult): WriteResult => {
    if (result.ok || !result.fields) return result
    const names = byName.get(steps[result.step]?.in ?? '')?.names ?? null
    return { ...result, fields: result.fields.map((path) => declaredPath(names, path)) }
  }

  const readChange = (change: Change): readonly Change[] => {
    const name = declaredOf(change.in)
    if (name === undefined) return []
    const { read } = byName.get(name) ?? {}
    if (!read) return [change]
    const { before, after } = change
    return [{ ...change, in: name, before: before && read(before), after: after && read(after) }]
  }

  const renameList = (list: LinkedList): LinkedList => ({
    ...list,
    in: storedOf(list.in),
    filter: filterIn(list.in, list.filter),
  })
  const readLists = (lists: readonly LinkedList[], found: ListedTogether): ListedTogether =>
    found.map((documents, i) => documents && readAll(lists[i]?.in ?? '', documents))

  const renameQuery = (name: string, query: ListQuery): ListQuery => {
    const renaming = byName.get(name)
    if (!renaming?.names) return query
    return { ...query, filter: renaming.filter(query.filter), sort: renaming.sort(query.sort) }
  }
  const renameGroups = (name: string, query: AggregateQuery): AggregateQuery => {
    const renaming = byName.get(name)
    if (!renaming?.names) return query
    const { ref, filter } = renaming
    const rename = <T extends GroupPart | Measure>(one: T): T => ({
      ...one,
      field: ref(one.field),
      shown: filter(one.shown),
    })
    return {
      ...query,
      filter: filter(query.filter),
      by: query.by.map(rename),
      measures: query.measures.map(rename),
    }
  }
  const readLinked = ({ in: name, field, lists, ...others }: Linked, options: CallOptions) => {
    const names = byName.get(name)?.names ?? null
    const asked = {
      ...others,
      in: storedOf(name),
      field: storedPath(names, field),
      lists: lists.map(renameList),
    }
    return whenReady(required(adapter.readLinked?.(asked, options)), ({ document, lists: found }) => ({
      document: document && (byName.get(name)?.read(document) ?? document),
      lists: readLists(lists, found),
    }))
  }
  const { system } = adapter
  const renamed: StorageAdapter = {
    open: (plans) => adapter.open(renamePlans(plans)),
    close: () => adapter.close(),
    list: (name, query) =>
      whenReady(adapter.list(storedOf(name), renameQuery(name, query)), (found) => readAll(name, found)),
    count: (name, filter, options) => adapter.count(storedOf(name), filterIn(name, filter), options),
    write: (steps, options) =>
      whenReady(adapter.write(steps.map(renameStep), options), (result) => readResult(steps, result)),
    ...(system === undefined ? {} : { system }),
  }
  if (adapter.aggregate)
    renamed.aggregate = (name, query) =>
      required(adapter.aggregate?.(storedOf(name), renameGroups(name, query)))
  if (adapter.state) renamed.state = (names) => adapter.state?.(names.map(storedOf))
  if (adapter.readLinked) renamed.readLinked = readLinked
  if (adapter.listTogether)
    renamed.listTogether = (lists, options) =>
      whenReady(required(adapter.listTogether?.(lists.map(renameList), options)), (found) =>
        readLists(lists, found),
      )
  if (adapter.changes)
    renamed.changes = async (after, query) => {
      const page = required(await adapter.changes?.(after, query))
      return { ...page, changes: page.changes.flatMap(readChange) }
    }
  if (adapter.stream)
    renamed.stream = async function* (name, query) {
      for await (const some of required(adapter.stream?.(storedOf(name), renameQuery(name, query))))
        yield readAll(name, some)
    }
  if (adapter.leftUnique)
    renamed.leftUnique = (plans, options) =>
      whenReady(adapter.leftUnique?.(renamePlans(plans), options), (left = []) =>
        left.flatMap((one) => {
          const name = declaredOf(one.collection)
          return name === undefined ? [] : [renameLeft(byName.get(name), { ...one, collection: name })]
        }),
      )
  // The first documents of an adapter may only be known after it was opened.
  Object.defineProperty(renamed, 'seed', { get: () => adapter.seed, enumerable: true })
  return renamed
}

/** Returns the result of a method that the adapter has. */
function required<T>(result: T | undefined): T {
  if (result === undefined) throw new Error('the storage adapter has lost a method')
  return result
}
