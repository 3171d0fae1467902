import { compare, compileField, type Ordered } from '../../src/core/filter/compare.js'
import type { FieldRef, Filter, Leaf } from '../../src/core/filter/filter.js'
import { compileFilter, type Predicate } from '../../src/core/filter/matches.js'
import type {
  CollectionPlan,
  IndexPlan,
  ListQuery,
  SortKey,
  StorageAdapter,
  StoredDocument,
  WriteResult,
  WriteStep,
} from '../../src/core/storage.js'
import type { JsonObject } from '../../src/core/types.js'

type Refusal = Omit<Extract<WriteResult, { readonly ok: false }>, 'ok' | 'step'>
type Documents = readonly StoredDocument[]

/** What an array adapter is made of; each part can be broken by itself. */
export interface ArrayAdapterParts {
  readonly compileLeaf: (leaf: Leaf) => Predicate
  readonly negate: (filter: Filter, isMatch: boolean, document: JsonObject) => boolean
  readonly readValue: (field: FieldRef, document: StoredDocument) => Ordered
  readonly compareValues: (a: Ordered, b: Ordered, key: SortKey) => number
  readonly page: (
    documents: Documents,
    query: ListQuery,
    isMatch: (document: StoredDocument) => boolean,
  ) => Documents
  readonly keyOf: (index: IndexPlan, document: StoredDocument) => string | undefined
  readonly isCurrent: (stored: StoredDocument | undefined, version: number) => boolean
  /** Of what is required: as the steps before leave it, and as it was before the write. */
  readonly judgeRequired: (
    version: number | undefined,
    now: StoredDocument | undefined,
    before: StoredDocument | undefined,
    isMatch: (document: StoredDocument) => boolean,
  ) => 'missing' | 'changed' | undefined
  readonly refuses: (found: number) => boolean
  /** What is kept of a document that was passed in, and handed out. */
  readonly copy: (document: StoredDocument) => StoredDocument
  /** What is left of a write whose step failed. */
  readonly rollBack: (
    before: ReadonlyMap<string, Documents>,
    after: ReadonlyMap<string, Documents>,
  ) => ReadonlyMap<string, Documents>
  /** Between looking and writing. */
  readonly pause: () => Promise<void> | undefined
  readonly orderIndexes: (indexes: readonly IndexPlan[]) => readonly IndexPlan[]
  readonly meets: (removed: number, expected: number | undefined) => boolean
  /** What an opened adapter makes of an index over documents that are there. */
  readonly describeDuplicates: (index: IndexPlan, document: StoredDocument) => string | undefined
  readonly close: (data: Map<string, Documents>) => void
  /** How many of the documents of a list are handed out, where it is bounded in bytes. */
  readonly countWithin: (documents: Documents, bytes: number) => number
  /** The ids of those that are not. */
  readonly nameRest: (documents: Documents) => readonly string[]
  /** What a snapshot reads. */
  readonly hold: (data: ReadonlyMap<string, Documents>) => ReadonlyMap<string, Documents>
  /** A page of a snapshot, of sorted documents. */
  readonly nextOf: (sorted: Documents, after: string) => Documents
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) freeze(inner)
  return Object.freeze(value)
}

/** What `make` makes of an object, once for each. */
export function once<K extends object, V>(make: (key: K) => V): (key: K) => V {
  const made = new WeakMap<K, { readonly value: V }>()
  return (key) => {
    const known = made.get(key) ?? { value: make(key) }
    made.set(key, known)
    return known.value
  }
}

const readerOf = once(compileField)

export const soundParts: ArrayAdapterParts = {
  compileLeaf: compileFilter,
  negate: (_, isMatch) => !isMatch,
  readValue: (field, document) => readerOf(field)(document),
  compareValues: (a, b, { descending }) => compare(a, b) * (descending ? -1 : 1),
  page: (documents, { skip, limit }, isMatch) =>
    documents.filter(isMatch).slice(skip, limit === null ? undefined : skip + limit),
  keyOf: ({ fields }, document) => {
    const values = fields.map((field) => readerOf(field)(document))
    return values.includes(undefined) ? undefined : JSON.stringify(values)
  },
  isCurrent: (stored, version) => stored?._version === version,
  judgeRequired: (version, now, _, isMatch) => {
    if (!now) return 'missing'
    return (version ?? now._version) === now._version && isMatch(now) ? undefined : 'changed'
  },
  refuses: (found) => found > 0,
  copy: (document) => freeze(structuredClone(document)),
  rollBack: (before) => before,
  pause: () => undefined,
  orderIndexes: (indexes) => indexes,
  meets: (removed, expected) => expected === undefined || removed === expected,
  describeDuplicates: ({ fields }) => `duplicates of ${fields.map(({ path }) => path).join(', ')}`,
  close: () => {},
  countWithin: (documents, bytes) => {
    let held = 0
    const beyond = documents.findIndex((document, i) => {
      held += Buffer.byteLength(JSON.stringify(document))
      return i > 0 && held > bytes
    })
    return beyond < 0 ? documents.length : beyond
  },
  nameRest: (documents) => documents.map(({ _id }) => _id),
  hold: (data) => new Map(data),
  nextOf: (sorted, after) => sorted.filter(({ _id }) => _id > after).slice(0, 100),
}

/** The plainest adapter there is, an array per collection, with some parts replaced. */
export function createArrayAdapter(broken: Partial<ArrayAdapterParts> = {}): StorageAdapter {
  const parts = { ...soundParts, ...broken }
  const indexes = new Map<string, readonly IndexPlan[]>()
  const data = new Map<string, Documents>()
  const read = (name: string): Documents => data.get(name) ?? []

  const compile = (filter: Filter): Predicate => {
    switch (filter.kind) {
      case 'and': {
        const all = filter.filters.map(compile)
        return (document) => all.every((holds) => holds(document))
      }
      case 'or': {
        const any = filter.filters.map(compile)
        return (document) => any.some((holds) => holds(document))
      }
      case 'not': {
        const { filter: inner } = filter
        const holds = compile(inner)
        return (document) => parts.negate(inner, holds(document), document)
      }
      default:
        return parts.compileLeaf(filter)
    }
  }

  const findTaken = (name: string, document: StoredDocument): Refusal | undefined => {
    for (const index of parts.orderIndexes(indexes.get(name) ?? [])) {
      if (!index.unique) continue
      const key = parts.keyOf(index, document)
      const others = read(name).filter(({ _id }) => _id !== document._id)
      if (key !== undefined && others.some((other) => parts.keyOf(index, other) === key)) {
        return { reason: 'unique', fields: index.fields.map(({ path }) => path) }
      }
    }
    return undefined
  }

  const look = (step: WriteStep, before: ReadonlyMap<string, Documents>): Refusal | undefined => {
    const documents = read(step.in)
    const has = (id: string): boolean => documents.some(({ _id }) => _id === id)
    if ('insert' in step) {
      return has(step.insert._id) ? { reason: 'unique', fields: ['_id'] } : findTaken(step.in, step.insert)
    }
    if ('replace' in step) {
      const stored = documents.find(({ _id }) => _id === step.replace._id)
      return parts.isCurrent(stored, step.version) ? findTaken(step.in, step.replace) : { reason: 'changed' }
    }
    if ('require' in step) {
      const [first, now] = [before.get(step.in) ?? [], documents].map((all) =>
        all.find(({ _id }) => _id === step.require),
      )
      const isAsAsked = step.where ? compile(step.where) : () => true
      const reason = parts.judgeRequired(step.version, now, first, isAsAsked)
      return reason && { reason }
    }
    const filter = 'remove' in step ? step.remove : step.refuse
    const found = documents.filter(compile(filter)).length
    if ('remove' in step) return parts.meets(found, step.expect) ? undefined : { reason: 'changed' }
    return parts.refuses(found) ? { reason: 'found' } : undefined
  }

  const apply = (step: WriteStep): number => {
    const documents = read(step.in)
    if ('insert' in step) data.set(step.in, [...documents, parts.copy(step.insert)])
    if ('replace' in step) {
      const replacement = parts.copy(step.replace)
      data.set(
        step.in,
        documents.map((document) => (document._id === replacement._id ? replacement : document)),
      )
    }
    if (!('remove' in step)) return 0
    const isRemoved = compile(step.remove)
    const left = documents.filter((document) => !isRemoved(document))
    data.set(step.in, left)
    return documents.length - left.length
  }

  return {
    async open(plans: readonly CollectionPlan[]) {
      for (const plan of plans) {
        for (const index of plan.indexes) {
          const keys = read(plan.name).map((document) => parts.keyOf(index, document))
          const twin = read(plan.name).find((_, i) => keys[i] !== undefined && keys.indexOf(keys[i]) < i)
          const fault = index.unique && twin && parts.describeDuplicates(index, twin)
          if (fault) throw new Error(fault)
        }
        indexes.set(plan.name, [...plan.indexes])
        if (!data.has(plan.name)) data.set(plan.name, [])
      }
    },
    async list(name, query) {
      const { sort } = query
      const keyed = read(name).map((document) => ({
        document,
        keys: sort.map(({ field }) => parts.readValue(field, document)),
      }))
      keyed.sort((a, b) => {
        for (const [i, key] of sort.entries()) {
          const order = parts.compareValues(a.keys[i], b.keys[i], key)
          if (order !== 0) return order
        }
        return 0
      })
      const sorted = keyed.map(({ document }) => document)
      const page = parts.page(sorted, query, compile(query.filter))
      const count = query.bytes === undefined ? page.length : parts.countWithin(page, query.bytes)
      if (count === page.length) return page
      return Object.assign(page.slice(0, count), { rest: parts.nameRest(page.slice(count)) })
    },
    async count(name, filter) {
      return read(name).filter(compile(filter)).length
    },
    async write(steps) {
      const before = new Map(data)
      let removed = 0
      for (const [i, step] of steps.entries()) {
        const refusal = look(step, before)
        if (refusal) {
          for (const [name, documents] of parts.rollBack(before, new Map(data))) data.set(name, documents)
          return { ok: false, step: i, ...refusal }
        }
        const pause = parts.pause()
        if (pause) await pause
        removed += apply(step)
      }
      return { ok: true, removed }
    },
    async snapshot() {
      const held = parts.hold(data)
      const sorted = (name: string): Documents =>
        [...(held.get(name) ?? [])].sort((a, b) => compare(a._id, b._id))
      return {
        collections: () => [...held.keys()],
        next: (name, after) => parts.nextOf(sorted(name), after),
        async close() {},
      }
    },
    async close() {
      parts.close(data)
    },
  }
}
