import { and, everything, type Filter, isId, or } from '../../filter/filter.js'
import { compileFilter } from '../../filter/matches.js'
import { compileDocumentOrder } from '../../filter/order.js'
import type { ReadAccess } from '../../permissions/read-gate.js'
import { isUuid } from '../../schema/names.js'
import { endless } from '../../slices.js'
import type { StoredDocument, WriteStep } from '../../storage.js'
import type { MaybePromise } from '../../types.js'
import { type ByteBudget, boundBytes } from '../byte-budget.js'
import { readByIds } from '../read/read-batches.js'
import { type Attempt, BATCH_BYTES, type Reader, type Store, type StoreQuery } from '../store.js'
import { idsIn, PendingWrites } from './pending-writes.js'

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
  /** The documents that somebody could read, by collection and `_id`. */
  readonly #known = new Map<string, Map<string, StoredDocument>>()
  /** The versions of all documents that were read, by collection and `_id`. */
  readonly #versions = new Map<string, Map<string, number>>()
  /** What was not there for who asked. */
  readonly #absences: WriteStep[] = []
  #isOver = false
  #work = 0

  constructor(base: Store, budget: ByteBudget) {
    this.#base = base
    this.#budget = budget
  }

  /** The steps that require what was read to be unchanged. */
  get conditions(): readonly WriteStep[] {
    return [...this.#versions].flatMap(([collection, versions]) =>
      Array.from(versions, ([id, version]) => ({ in: collection, require: id, version })),
    )
  }

  /** The steps that require what was not found to be absent. */
  get absences(): readonly WriteStep[] {
    return this.#absences
  }

  /** The bytes of documents that were read or written since the last call, at most. */
  takeWork(): number {
    const work = this.#work
    this.#work = 0
    return work
  }

  /** Takes back the writes of an operation and of those behind it; what is read then is read anew. */
  rewind(operation: number): void {
    this.pending.rewind(operation)
    this.#known.clear()
    this.#isOver = true
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
      const document = 'insert' in step ? step.insert : 'replace' in step ? step.replace : undefined
      if (!document) continue
      this.#budget.take(document)
      this.#work += boundBytes(document)
    }
    if (write.steps.length > 0) this.pending.add(this.operation, write)
    return done
  }

  /** The time of an operation is that of its batch. */
  within(): Store {
    return this
  }

  /** The documents with some ids, where they stand, as far as they may be read. */
  async find(
    collection: string,
    ids: readonly string[],
    allowed: Allowed,
  ): Promise<readonly StoredDocument[]> {
    const known = entryOf(this.#known, collection)
    const unknown = ids.filter((id) => !known.has(id) && this.pending.find(collection, id) === undefined)
    if (unknown.length > 0) await this.#learn(collection, unknown, allowed)
    const found = ids.flatMap((id) => {
      const written = this.pending.find(collection, id)
      if (written !== undefined) return written ?? []
      const stored = known.get(id)
      return stored && !this.pending.isRemoved(collection, stored) ? [stored] : []
    })
    for (const document of found) this.#work += boundBytes(document)
    return found.filter((document) => allowed.isReadable(document))
  }

  /** The documents that match, in order. */
  async list(collection: string, { filter, sort = [], skip = 0, limit = null }: Asked) {
    const end = limit === null ? null : skip + limit
    const touched = this.pending.touched(collection)
    const untouched = and([filter, ...this.pending.untouched(collection)])
    const stored: StoredDocument[] = []
    const most = end === null ? null : end + touched.size
    for await (const batch of this.#readAll(collection, { filter: untouched, sort, limit: most }))
      for (const document of batch) {
        if (touched.has(document._id)) continue
        stored.push(document)
        this.#require(collection, document)
      }
    const written = this.pending.written(collection).filter(compileFilter(filter))
    if (written.length === 0) return stored.slice(skip, end ?? undefined)
    const order = compileDocumentOrder(sort)
    const slice = endless()
    return [...stored, ...written].sort((a, b) => order(a, b, slice)).slice(skip, end ?? undefined)
  }

  /** Reads documents of which nothing is known. What may not be read counts as absent, and is not kept. */
  async #learn(collection: string, ids: readonly string[], allowed: Allowed): Promise<void> {
    const known = entryOf(this.#known, collection)
    const absent = new Set(ids)
    for await (const batch of this.#readAll(collection, { filter: or(ids.map(isId)) }))
      for (const document of batch.filter((one) => allowed.isReadable(one))) {
        absent.delete(document._id)
        known.set(document._id, document)
        this.#require(collection, document)
        if (allowed.show && !this.#isOver) this.#budget.take(allowed.show(document))
      }
    if (absent.size === 0) return
    const refuse = allowed.restrict(or(Array.from(absent, isId)))
    this.#absences.push({ in: collection, refuse })
  }

  async *#readAll(collection: string, asked: Asked): AsyncGenerator<readonly StoredDocument[]> {
    const base = this.#base.own(collection)
    const first = await base.list({ ...asked, bytes: BATCH_BYTES })
    yield first
    const walk = { sort: [], skip: 0, limit: null, after: null, ...asked }
    yield* readByIds(base, walk, first.rest ?? [])
  }

  /** The first version counts: if it has changed meanwhile, the batch is judged anew. */
  #require(collection: string, { _id, _version }: StoredDocument): void {
    const versions = entryOf(this.#versions, collection)
    if (!versions.has(_id)) versions.set(_id, _version)
  }
}

function entryOf<V>(maps: Map<string, Map<string, V>>, collection: string): Map<string, V> {
  const known = maps.get(collection) ?? new Map<string, V>()
  maps.set(collection, known)
  return known
}

/** What a reader may read; what the service reads with its own authority is not shown. */
type Allowed = Pick<ReadAccess, 'restrict' | 'isReadable'> & Partial<Pick<ReadAccess, 'show'>>

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
    const ids = query.sort || query.skip ? undefined : idsIn(asked)
    if (!ids) {
      return this.#store.list(this.#collection, { ...query, filter: this.#allowed.restrict(asked) })
    }
    const found = await this.#store.find(this.#collection, ids, this.#allowed)
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
