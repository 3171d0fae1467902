import { and, type Filter, isId, not, or } from '../../filter/filter.js'
import { compileFilter } from '../../filter/matches.js'
import { compileDocumentOrder } from '../../filter/order.js'
import type { ReadAccess } from '../../permissions/read-gate.js'
import { whenReady } from '../../promises.js'
import { endless } from '../../slices.js'
import type { Listed, StoredDocument, WriteStep } from '../../storage.js'
import type { MaybePromise } from '../../types.js'
import { type ByteBudget, boundBytes } from '../byte-budget.js'
import { readByIds } from '../read-by-ids.js'
import {
  type Attempt,
  BATCH_BYTES,
  type Reader,
  refuseTaken,
  type Store,
  type WriteFailure,
} from '../store.js'
import { requireFound } from '../write/find-doomed.js'
import { type Allowed, type Asked, BatchReader, type Stage, UNRESTRICTED } from './batch-reader.js'
import { createHold } from './hold.js'
import { idsIn, PendingWrites } from './pending-writes.js'
import { ReadBudget } from './read-budget.js'
import { takeTurns } from './take-turns.js'

/** Gives the error of an operation, as that of the write that it is a part of. */
type Blame = (operation: number, thrown: unknown) => unknown

/** How a store reads. */
interface Reading {
  /** Whether it remembers all that is read, so that the write can require it unchanged. */
  readonly isWatchful: boolean
  /** The collections whose lists are of callers, so that no other write adds to them at the same time. Default: none. */
  readonly turnsIn?: ReadonlySet<string>
}

/**
 * The storage as the operations of a batch, or a hook, see it: behind the writes of those before, which wait.
 * Documents that were read by their `_id` stay as they were read; the write that relies on them then fails
 * where they have changed.
 */
export class BatchStore implements Store, Stage {
  readonly pending = new PendingWrites()
  /** The operation that is judged. */
  operation = 0
  readonly #base: Store
  readonly #budget: ByteBudget
  readonly #reads: ReadBudget
  readonly #isWatchful: boolean
  readonly #turnsIn: ReadonlySet<string>
  /** The documents that somebody could read, by collection and `_id`. */
  readonly #known = new Map<string, Map<string, StoredDocument>>()
  /** The versions of all documents that were read, by collection and `_id`. */
  readonly #versions = new Map<string, Map<string, number>>()
  /** What requires that lists have no further documents, by what was asked first. */
  readonly #lists = new Map<string, WriteStep>()
  /** What was not there for who asked, by collection. */
  readonly #absences = new Map<string, readonly Filter[]>()
  #isOver = false
  #work = 0

  constructor(base: Store, budget: ByteBudget, { isWatchful, turnsIn = new Set() }: Reading) {
    this.#base = base
    this.#budget = budget
    this.#reads = new ReadBudget(budget)
    this.#isWatchful = isWatchful
    this.#turnsIn = turnsIn
  }

  /** The steps that require what was read unchanged. */
  get conditions(): readonly WriteStep[] {
    const lists = [...this.#lists.values()]
    return [...requireFound(this.#versions), ...lists, ...takeTurns(lists, this.#turnsIn, this.pending)]
  }

  /** The steps that refuse what was not found, one for each collection. */
  get absences(): readonly WriteStep[] {
    return Array.from(this.#absences, ([name, filters]) => ({ in: name, refuse: or(filters) }))
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

  /** Lets the operation of a failed step refuse the write; where none does, it is judged anew. */
  async refuse(failure: WriteFailure, blame: Blame): Promise<void> {
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

  isAside(collection: string): boolean {
    return !this.#isWatchful && !this.pending.hasTouched(collection)
  }

  /** The write waits: it is tried again with the whole batch. */
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

  /** The time of an operation is that of its batch. */
  within(): Store {
    return this
  }

  async find(
    collection: string,
    ids: readonly string[],
    allowed: Allowed,
  ): Promise<readonly StoredDocument[]> {
    const known = entryOf(this.#known, collection)
    const unknown = ids.filter((id) => !known.has(id) && this.pending.find(collection, id) === undefined)
    const learned = unknown.length > 0 ? await this.#learn(collection, unknown, allowed) : known
    const found = ids.flatMap((id) => {
      const written = this.pending.find(collection, id)
      if (written !== undefined) return written ?? []
      const stored = known.get(id) ?? learned.get(id)
      if (!stored || this.pending.isRemoved(collection, stored)) return []
      if (allowed.isReadable(stored)) this.#count(stored, allowed)
      return [stored]
    })
    for (const document of found) this.#work += boundBytes(document)
    return found.filter((document) => allowed.isReadable(document))
  }

  async list(
    collection: string,
    { filter, sort = [], skip = 0, limit = null, bytes }: Asked,
  ): Promise<Listed> {
    const end = limit === null ? null : skip + limit
    const touched = this.pending.touched(collection)
    const untouched = and([filter, ...this.pending.untouched(collection)])
    const stored: StoredDocument[] = []
    const most = end === null ? null : end + touched.size
    const hold = createHold(sort, bytes)
    let read = 0
    for await (const batch of this.#readAll(collection, { filter: untouched, sort, limit: most })) {
      read += batch.length
      for (const document of batch.filter(({ _id }) => !touched.has(_id))) {
        stored.push(hold.take(document))
        this.#require(collection, document)
      }
    }
    // Behind a part of them there may be more.
    if (this.#isWatchful && read !== most && !this.#areRequired(collection, filter)) {
      const known = [...stored.map(({ _id }) => _id), ...touched.keys()]
      this.#forbid(JSON.stringify([collection, filter]), collection, [untouched, not(or(known.map(isId)))])
    }
    const written = this.pending.written(collection).filter(compileFilter(filter))
    if (written.length === 0) return hold.page(stored.slice(skip, end ?? undefined))
    const [order, slice] = [compileDocumentOrder(sort), endless()]
    const all = [...stored, ...written].sort((a, b) => order(a, b, slice))
    return hold.page(all.slice(skip, end ?? undefined))
  }

  #forbid(key: string, collection: string, filters: readonly Filter[]): void {
    if (!this.#lists.has(key)) this.#lists.set(key, { in: collection, refuse: and(filters) })
  }

  /** Whether a filter asks for documents by their `_id`s alone, all of which are required as they were read. */
  #areRequired(collection: string, filter: Filter): boolean {
    const versions = this.#versions.get(collection)
    const ids = filter.kind === 'and' ? filter.filters.map(idsIn).find(Boolean) : idsIn(filter)
    return ids?.every((id) => versions?.has(id)) ?? false
  }

  /** Reads documents of which nothing is known. What may not be read counts as absent, and is not kept. */
  async #learn(
    collection: string,
    ids: readonly string[],
    allowed: Allowed,
  ): Promise<ReadonlyMap<string, StoredDocument>> {
    const known = entryOf(this.#known, collection)
    const learned = new Map<string, StoredDocument>()
    const absent = new Set(ids)
    for await (const batch of this.#readAll(collection, { filter: or(ids.map(isId)) }))
      for (const document of batch.filter((one) => allowed.isReadable(one))) {
        absent.delete(document._id)
        learned.set(document._id, document)
        if (this.#count(document, allowed) || this.#reads.hasRoom(document)) known.set(document._id, document)
        this.#require(collection, document)
      }
    if (absent.size > 0 && this.#isWatchful) {
      const refuse = allowed.restrict(or(Array.from(absent, isId)))
      this.#absences.set(collection, [...(this.#absences.get(collection) ?? []), refuse])
      // What is not there makes a caller what it is, too.
      if (this.#turnsIn.has(collection))
        this.#forbid(JSON.stringify([collection, ...absent]), collection, [refuse])
    }
    return learned
  }

  #count(document: StoredDocument, { show }: Allowed): boolean {
    return this.#reads.count(document, this.#isWatchful && !this.#isOver ? show : undefined)
  }

  async *#readAll(collection: string, asked: Asked): AsyncGenerator<readonly StoredDocument[]> {
    const base = this.#base.own(collection)
    const first = await base.list({ ...asked, bytes: BATCH_BYTES })
    yield first
    yield* readByIds(base, asked, first.rest ?? [])
  }

  /** The first version counts: if it has changed meanwhile, the batch is judged anew. */
  #require(collection: string, { _id, _version }: StoredDocument): void {
    if (!this.#isWatchful) return
    const versions = entryOf(this.#versions, collection)
    if (!versions.has(_id)) versions.set(_id, _version)
  }
}

function entryOf<V>(maps: Map<string, Map<string, V>>, collection: string): Map<string, V> {
  const known = maps.get(collection) ?? new Map<string, V>()
  maps.set(collection, known)
  return known
}
