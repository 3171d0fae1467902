import { and, everything, type Filter, ID, isId, or } from '../../filter/filter.js'
import { isOn } from '../../filter/index-order.js'
import { compileFilter } from '../../filter/matches.js'
import { compileDocumentOrder } from '../../filter/order.js'
import type { ReadAccess } from '../../permissions/read-gate.js'
import { isUuid } from '../../schema/names.js'
import { endless } from '../../slices.js'
import type { StoredDocument, WriteStep } from '../../storage.js'
import type { MaybePromise } from '../../types.js'
import type { ByteBudget } from '../byte-budget.js'
import { readByIds } from '../read/read-batches.js'
import { type Attempt, BATCH_BYTES, type Reader, type Store, type StoreQuery } from '../store.js'
import { PendingWrites } from './pending-writes.js'

/** A query whose filter is all that counts. */
type Asked = Pick<StoreQuery, 'sort' | 'skip' | 'limit'> & { readonly filter: Filter }

/**
 * The storage as the operations of a batch see it: behind the writes of those before, which wait. What is read
 * from the storage is remembered, so that the batch can require it to be unchanged.
 */
export class BatchStore implements Store {
  readonly pending = new PendingWrites()
  /** The operation that is judged. */
  operation = 0
  readonly #base: Store
  readonly #budget: ByteBudget
  /** By collection and `_id`; `undefined` where there was nothing. */
  #known = new Map<string, Map<string, StoredDocument | undefined>>()

  constructor(base: Store, budget: ByteBudget) {
    this.#base = base
    this.#budget = budget
  }

  /** The steps that require what was read to be unchanged; a `replace` does so itself. */
  get conditions(): readonly WriteStep[] {
    const replaced = new Set(
      this.pending.steps.flatMap((step) => ('replace' in step ? [`${step.in} ${step.replace._id}`] : [])),
    )
    return [...this.#known].flatMap(([collection, documents]) =>
      [...documents.values()].flatMap((document): readonly WriteStep[] =>
        document && !replaced.has(`${collection} ${document._id}`)
          ? [{ in: collection, require: document._id, version: document._version }]
          : [],
      ),
    )
  }

  /** Takes back the writes of an operation and of those behind it; what is read then is read anew. */
  rewind(operation: number): void {
    this.pending.rewind(operation)
    this.#known = new Map()
  }

  read(access: ReadAccess): Reader {
    return new BatchReader(this, access.storage.name, access)
  }

  own(collection: string): Reader {
    return new BatchReader(this, collection, UNRESTRICTED)
  }

  /** The write waits: it is tried again with the whole batch. */
  async write<T>(attempt: () => MaybePromise<Attempt<T>>): Promise<T> {
    const { done, ...write } = await attempt()
    for (const step of write.steps) {
      if ('insert' in step) this.#budget.take(step.insert)
      else if ('replace' in step) this.#budget.take(step.replace)
    }
    if (write.steps.length > 0) this.pending.add(this.operation, write)
    return done
  }

  /** The time of an operation is that of its batch. */
  within(): Store {
    return this
  }

  /** The documents with some ids, where they stand. */
  async find(collection: string, ids: readonly string[]): Promise<readonly StoredDocument[]> {
    const known = this.#knownIn(collection)
    const unknown = ids.filter((id) => !known.has(id) && this.pending.find(collection, id) === undefined)
    if (unknown.length > 0) {
      for (const id of unknown) known.set(id, undefined)
      await this.#readAll(collection, { filter: or(unknown.map(isId)) })
    }
    return ids.flatMap((id) => {
      const written = this.pending.find(collection, id)
      if (written !== undefined) return written ?? []
      const stored = known.get(id)
      return stored && !this.pending.isRemoved(collection, stored) ? [stored] : []
    })
  }

  /** The documents that match, in order. */
  async list(collection: string, { filter, sort = [], skip = 0, limit = null }: Asked) {
    const end = limit === null ? null : skip + limit
    const untouched = and([filter, ...this.pending.untouched(collection)])
    const stored = await this.#readAll(collection, { filter: untouched, sort, limit: end })
    const written = this.pending.written(collection).filter(compileFilter(filter))
    if (written.length === 0) return stored.slice(skip)
    const order = compileDocumentOrder(sort)
    const slice = endless()
    return [...stored, ...written].sort((a, b) => order(a, b, slice)).slice(skip, end ?? undefined)
  }

  async #readAll(collection: string, asked: Asked): Promise<readonly StoredDocument[]> {
    const base = this.#base.own(collection)
    const first = await base.list({ ...asked, bytes: BATCH_BYTES })
    const documents = [...first]
    for (const document of first) this.#remember(collection, document)
    const walk = { sort: [], skip: 0, limit: null, after: null, ...asked }
    for await (const batch of readByIds(base, walk, first.rest ?? [])) {
      documents.push(...batch)
      for (const document of batch) this.#remember(collection, document)
    }
    return documents
  }

  /** What was known before stays known: if it has changed meanwhile, the batch is judged anew. */
  #remember(collection: string, document: StoredDocument): void {
    const known = this.#knownIn(collection)
    if (known.get(document._id)) return
    known.set(document._id, document)
    this.#budget.take(document)
  }

  #knownIn(collection: string): Map<string, StoredDocument | undefined> {
    const known = this.#known.get(collection) ?? new Map<string, StoredDocument | undefined>()
    this.#known.set(collection, known)
    return known
  }
}

type Allowed = Pick<ReadAccess, 'restrict' | 'isReadable'>

const UNRESTRICTED: Allowed = { restrict: (filter) => filter, isReadable: () => true }

/** Reads for one operation of a batch. */
class BatchReader implements Reader {
  readonly #store: BatchStore
  readonly #collection: string
  readonly #allowed: Allowed

  constructor(store: BatchStore, collection: string, allowed: Allowed) {
    this.#store = store
    this.#collection = collection
    this.#allowed = allowed
  }

  async find(id: string): Promise<StoredDocument | undefined> {
    return isUuid(id) ? this.first(isId(id)) : undefined
  }

  async first(filter: Filter): Promise<StoredDocument | undefined> {
    const [document] = await this.list({ filter, limit: 1 })
    return document
  }

  async list({ filter = everything, range = everything, ...query }: StoreQuery) {
    const asked = and([range, filter])
    const { restrict, isReadable } = this.#allowed
    const ids = query.sort || query.skip ? undefined : idsIn(asked)
    if (!ids) return this.#store.list(this.#collection, { ...query, filter: restrict(asked) })
    const found = (await this.#store.find(this.#collection, ids)).filter((one) => isReadable(one))
    return found.slice(0, query.limit ?? undefined)
  }

  async count(filter: Filter): Promise<number> {
    return (await this.list({ filter })).length
  }

  isOrdered(): boolean {
    return true
  }

  async *stream(query: StoreQuery): AsyncGenerator<readonly StoredDocument[], void, undefined> {
    yield await this.list(query)
  }
}

/** The ids of a filter that names nothing else. */
function idsIn(filter: Filter): readonly string[] | undefined {
  if (filter.kind === 'or') {
    const ids = filter.filters.map(idsIn)
    return ids.every((some) => some !== undefined) ? [...new Set(ids.flat())] : undefined
  }
  return filter.kind === 'eq' && isOn(filter.field, ID) ? [String(filter.value)] : undefined
}
