import { bounds } from '../../bounds.js'
import { and, isId, not, or } from '../../filter/filter.js'
import { compileFilter } from '../../filter/matches.js'
import { compileDocumentOrder } from '../../filter/order.js'
import type { ReadAccess } from '../../permissions/read-gate.js'
import { whenReady } from '../../promises.js'
import { endless } from '../../slices.js'
import type { Listed, StoredDocument } from '../../storage.js'
import type { MaybePromise } from '../../types.js'
import { type ByteBudget, boundBytes } from '../byte-budget.js'
import { readByIds } from '../read-by-ids.js'
import type { Attempt, WriteFailure } from '../store/attempt.js'
import { type Reader, refuseTaken, type Store } from '../store.js'
import { type Allowed, type BatchQuery, BatchReader, type Stage, UNRESTRICTED } from './batch-reader.js'
import { Conditions } from './conditions.js'
import { createHold } from './hold.js'
import { type FindStored, PendingWrites } from './pending-writes.js'
import { ReadBudget } from './read-budget.js'

/** Returns the error of an operation as the error of the write that it is a part of. */
type BlameOperation = (operation: number, thrown: unknown) => unknown

/** The read options of a store. */
interface BatchReadOptions {
  /** Whether it records everything that is read, so that the write can require it unchanged. */
  readonly isWatchful: boolean
  /**
   * The collections that claims are read from: their lists are serialized, so that no concurrent write adds to them.
   * Default: none.
   */
  readonly turnsIn?: ReadonlySet<string>
}

/**
 * The storage as the operations of a batch, or a hook, see it: after the pending writes of earlier operations.
 * Documents that were read by their `_id` are remembered as read; the write that relies on them fails if they have
 * changed.
 */
export class BatchStore implements Store, Stage {
  readonly pending = new PendingWrites()
  /** The conditions on everything that was read. */
  readonly conditions: Conditions
  /** The index of the operation that is evaluated. */
  operation = 0
  readonly #base: Store
  readonly #budget: ByteBudget
  readonly #reads: ReadBudget
  readonly #isWatchful: boolean
  /** The readable documents that were read, by collection and `_id`. */
  readonly #known = new Map<string, Map<string, StoredDocument>>()
  /**
   * The `_id`s at which the storage had no document, by collection; only a watchful store has conditions on them. A
   * write that creates such a document fails if a concurrent write has created it meanwhile.
   */
  readonly #absent = new Map<string, ReadonlySet<string>>()
  #isOver = false
  #work = 0

  constructor(base: Store, budget: ByteBudget, { isWatchful, turnsIn = new Set() }: BatchReadOptions) {
    this.#base = base
    this.#budget = budget
    this.#reads = new ReadBudget(budget)
    this.#isWatchful = isWatchful
    this.conditions = new Conditions(turnsIn)
  }

  /** An upper bound of the bytes of documents that were read or written since the last call. */
  takeWork(): number {
    const work = this.#work
    this.#work = 0
    return work
  }

  /** Takes back the writes of an operation and of those after it; later reads read the storage again. */
  rewind(operation: number): void {
    this.pending.rewind(operation)
    this.#known.clear()
    this.#absent.clear()
    this.#isOver = true
  }

  /** Lets the operation of a failed step reject the write; if it does not, the write is evaluated again. */
  async refuse(failure: WriteFailure, blame: BlameOperation): Promise<void> {
    const write = this.pending.writeOf(failure.step)
    if (!write) return
    this.rewind(write.operation)
    try {
      await (write.refuse ?? refuseTaken)({ ...failure, step: failure.step - write.start })
    } catch (thrown) {
      throw blame(write.operation, thrown)
    }
  }

  read(access: ReadAccess, use: 'show' | 'compare' = 'show'): Reader {
    const { storage, restrict, isReadable } = access
    const allowed = use === 'show' ? access : { storage, restrict, isReadable }
    return new BatchReader(this, allowed, () => this.#base.read(access))
  }

  own(collection: string): Reader {
    const unrestricted = { storage: { name: collection }, ...UNRESTRICTED }
    return new BatchReader(this, unrestricted, () => this.#base.own(collection))
  }

  /** Reads are required unchanged, and earlier operations have written: nothing may be cached. */
  state(): undefined {
    return undefined
  }

  /** Earlier operations may have written the linked documents. */
  linked(): undefined {
    return undefined
  }

  isAside(collection: string): boolean {
    return !this.#isWatchful && !this.pending.hasTouched(collection)
  }

  /** The write becomes pending: it is retried with the whole batch. */
  write<T>(attempt: () => MaybePromise<Attempt<T>>): MaybePromise<T> {
    return whenReady(attempt(), (write) => {
      for (const step of write.steps) {
        const document = 'insert' in step ? step.insert : 'replace' in step ? step.replace : undefined
        if (document) this.#work += this.#budget.take(document)
      }
      if (write.steps.length > 0) this.pending.add(this.operation, write)
      return write.behind ? write.behind().then(() => write.done) : write.done
    })
  }

  /** See `PendingWrites.findOvertaken`. */
  findOvertaken(stored: FindStored): Promise<string | undefined> {
    return this.pending.findOvertaken(
      stored,
      (collection, id) => this.#absent.get(collection)?.has(id) === true,
    )
  }

  /** All operations of a batch share its deadline, and the caller of its writes. */
  within(): Store {
    return this
  }

  by(): Store {
    return this
  }

  find(
    collection: string,
    ids: readonly string[],
    allowed: Allowed,
  ): MaybePromise<readonly StoredDocument[]> {
    const known = entryOf(this.#known, collection)
    const absent = this.#absent.get(collection)
    const unknown = ids.filter(
      (id) => !known.has(id) && !absent?.has(id) && this.pending.find(collection, id) === undefined,
    )
    const learning = unknown.length > 0 ? this.#learn(collection, unknown, allowed) : known
    return whenReady(learning, (learned) => {
      const found: StoredDocument[] = []
      for (const id of ids) {
        const document = this.#standing(collection, id, known.get(id) ?? learned.get(id), allowed)
        if (!document) continue
        this.#work += boundBytes(document)
        if (allowed.isReadable(document)) found.push(document)
      }
      return found
    })
  }

  /** A document as it was written, or else as stored; stored documents that are shown count for the budget. */
  #standing(
    collection: string,
    id: string,
    stored: StoredDocument | undefined,
    allowed: Allowed,
  ): StoredDocument | undefined {
    const written = this.pending.find(collection, id)
    if (written !== undefined) return written ?? undefined
    if (!stored || this.pending.isRemoved(collection, stored)) return undefined
    if (allowed.isReadable(stored)) this.#count(stored, allowed)
    return stored
  }

  list(
    collection: string,
    { filter, sort = [], skip = 0, limit = null, bytes }: BatchQuery,
  ): MaybePromise<Listed> {
    const end = limit === null ? null : skip + limit
    const touched = this.pending.touched(collection)
    const untouched = and([filter, ...this.pending.untouched(collection)])
    const stored: StoredDocument[] = []
    const most = end === null ? null : end + touched.size
    const hold = createHold(sort, bytes)
    let read = 0
    const take = (batch: readonly StoredDocument[]): void => {
      read += batch.length
      for (const document of batch) {
        if (touched.has(document._id)) continue
        stored.push(hold.take(document))
        this.#require(collection, document)
      }
    }
    return whenReady(this.#readAll(collection, { filter: untouched, sort, limit: most }, take), () => {
      // After a partial read there may be more documents.
      if (this.#isWatchful && read !== most && !this.conditions.areRequired(collection, filter)) {
        const known = [...stored.map(({ _id }) => _id), ...touched.keys()]
        this.conditions.close(collection, filter, [untouched, not(or(known.map(isId)))])
      }
      const written = this.pending.written(collection).filter(compileFilter(filter))
      if (written.length === 0) return hold.page(stored.slice(skip, end ?? undefined))
      const [order, slice] = [compileDocumentOrder(sort), endless()]
      const all = [...stored, ...written].sort((a, b) => order(a, b, slice))
      return hold.page(all.slice(skip, end ?? undefined))
    })
  }

  /** Reads documents that are not known yet. Unreadable documents count as absent, and are not kept. */
  #learn(
    collection: string,
    ids: readonly string[],
    allowed: Allowed,
  ): MaybePromise<ReadonlyMap<string, StoredDocument>> {
    const known = entryOf(this.#known, collection)
    const learned = new Map<string, StoredDocument>()
    const [absent, missing] = [new Set(ids), new Set(ids)]
    const take = (batch: readonly StoredDocument[]): void => {
      for (const document of batch) {
        missing.delete(document._id)
        if (!allowed.isReadable(document)) continue
        absent.delete(document._id)
        learned.set(document._id, document)
        if (this.#count(document, allowed) || this.#reads.hasRoom(document)) known.set(document._id, document)
        this.#require(collection, document)
      }
    }
    return whenReady(this.#readAll(collection, { filter: or(ids.map(isId)) }, take), () => {
      if (missing.size > 0 && !this.#isWatchful)
        this.#absent.set(collection, new Set([...missing, ...(this.#absent.get(collection) ?? [])]))
      if (absent.size > 0 && this.#isWatchful)
        this.conditions.miss(collection, absent, allowed.restrict(or(Array.from(absent, isId))))
      return learned
    })
  }

  #count(document: StoredDocument, { show }: Allowed): boolean {
    return this.#reads.count(document, this.#isWatchful && !this.#isOver ? show : undefined)
  }

  /** Reads stored documents, and passes them on in batches. */
  #readAll(
    collection: string,
    asked: BatchQuery,
    take: (batch: readonly StoredDocument[]) => void,
  ): MaybePromise<void> {
    const base = this.#base.own(collection)
    return whenReady(base.list({ ...asked, bytes: bounds.readBytes }), (first) => {
      take(first)
      return first.rest && takeAll(readByIds(base, asked, first.rest), take)
    })
  }

  #require(collection: string, document: StoredDocument): void {
    if (this.#isWatchful) this.conditions.require(collection, document)
  }
}

async function takeAll<T>(batches: AsyncIterable<T>, take: (batch: T) => void): Promise<void> {
  for await (const batch of batches) take(batch)
}

function entryOf<V>(maps: Map<string, Map<string, V>>, collection: string): Map<string, V> {
  const known = maps.get(collection) ?? new Map<string, V>()
  maps.set(collection, known)
  return known
}
