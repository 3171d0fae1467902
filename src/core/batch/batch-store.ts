import { bounds } from '../bounds.js'
import { compileDocumentOrder, compileField, type OrderKey } from '../filter/compare.js'
import { and, everything, type Filter, isId, not, or } from '../filter/filter.js'
import { compileFilter } from '../filter/matches.js'
import { pickOwn } from '../json/own-properties.js'
import { isUuid } from '../json/uuid.js'
import type { ReadAccess } from '../permissions/read-gate.js'
import { inTurn, whenReady } from '../promises.js'
import { type ByteBudget, boundBytes } from '../request/byte-budget.js'
import { readByIds } from '../request/read-by-ids.js'
import type {
  Attempt,
  Deferred,
  DocumentName,
  Leaving,
  Refusable,
  WriteFailure,
} from '../request/store/attempt.js'
import { idOf, type Reader, refuseTaken, type Store, type StoreQuery } from '../request/store.js'
import { addSteps, endless } from '../slices.js'
import type { CollectionPlan, IndexPlan, Listed, StoredDocument, WriteStep } from '../storage.js'
import type { JsonObject, MaybePromise } from '../types.js'
import type { Conditions } from './conditions.js'
import { compileUnique, orderWrites, type Standing, stepToRemove, type UniqueValues } from './order-writes.js'
import { type FindStored, idsIn, type PendingWrite, PendingWrites, type Written } from './pending-writes.js'

/**
 * Creates a hold, which keeps the documents of a list in memory up to a number of bytes, counted roughly, and only the
 * ids and the sort fields of the remaining documents. It keeps the first document regardless of its size. Default of
 * `bytes`: no limit.
 */
function createHold(sort: readonly OrderKey[], bytes = Number.POSITIVE_INFINITY) {
  const ordering = sort.map(({ field: { path } }) => path.split('.')[0] ?? path)
  const cut = new Set<StoredDocument>()
  let left = bytes
  let isFirst = true
  return {
    take(document: StoredDocument): StoredDocument {
      if (left < Number.POSITIVE_INFINITY) left -= boundBytes(document)
      if (left >= 0 || isFirst) {
        isFirst = false
        return document
      }
      const { _id, _version } = document
      const stub = Object.assign({}, pickOwn(document, ordering), { _id, _version })
      cut.add(stub)
      return stub
    },
    /** Returns the documents of a sorted list up to the first one that was cut, and the ids of the rest. */
    page(listed: readonly StoredDocument[]): Listed {
      const end = listed.findIndex((document) => cut.has(document))
      if (end < 0) return listed
      return Object.assign(listed.slice(0, end), { rest: listed.slice(end).map(({ _id }) => _id) })
    },
  }
}

/**
 * Limits the documents that a batch keeps in memory. Each document that is shown counts once towards the budget of the
 * batch. Documents that are not shown are cached up to a separate limit.
 */
class ReadBudget {
  readonly #budget: ByteBudget
  readonly #counted = new WeakSet<StoredDocument>()
  #kept = 0

  constructor(budget: ByteBudget) {
    this.#budget = budget
  }

  /**
   * Counts a document towards the budget in the form that is shown, unless it was already counted. Returns false if it
   * is not shown.
   */
  count(document: StoredDocument, show: ((document: StoredDocument) => JsonObject) | undefined): boolean {
    if (!show) return false
    if (!this.#counted.has(document)) this.#budget.take(show(document))
    this.#counted.add(document)
    return true
  }

  /** Whether a document that does not count towards the budget can still be cached. */
  hasRoom(document: StoredDocument): boolean {
    this.#kept += boundBytes(document)
    return this.#kept <= bounds.rememberedBytes
  }
}

/** The read access of a reader. It has no `show` if the documents are not shown to the client. */
type Allowed = Pick<ReadAccess, 'restrict' | 'isReadable'> & Partial<Pick<ReadAccess, 'show'>>

/** A query whose only condition is its filter. */
type BatchQuery = Pick<StoreQuery, 'sort' | 'skip' | 'limit' | 'bytes'> & { readonly filter: Filter }

/** A read access, and the name of its collection. */
type AllowedIn = Allowed & { readonly storage: Pick<ReadAccess['storage'], 'name'> }

/** The number of documents that are read together if they may be large. */
const AT_ONCE = 16

const UNRESTRICTED: Allowed = { restrict: (filter) => filter, isReadable: () => true }

/** Reads documents for one operation of a batch. */
class BatchReader implements Reader {
  readonly #store: BatchStore
  readonly #allowed: AllowedIn
  readonly #readBase: () => Reader

  constructor(store: BatchStore, allowed: AllowedIn, readBase: () => Reader) {
    this.#store = store
    this.#allowed = allowed
    this.#readBase = readBase
  }

  find(id: string): MaybePromise<StoredDocument | undefined> {
    if (!isUuid(id)) return undefined
    const { storage } = this.#allowed
    return whenReady(this.#store.find(storage.name, [id], this.#allowed), ([document]) => document)
  }

  first(filter: Filter): MaybePromise<StoredDocument | undefined> {
    return whenReady(this.list({ filter, limit: 1 }), ([document]) => document)
  }

  list(query: StoreQuery): MaybePromise<Listed> {
    const { filter = everything, range = everything, ...others } = query
    const asked = and([range, filter])
    const ids = query.sort || query.skip ? undefined : idsIn(asked)
    const collection = this.#allowed.storage.name
    // A query with a byte limit may ask for many large documents. If possible, the storage itself lists them, up to
    // this limit.
    if (ids && !(this.#isAside && query.bytes !== undefined)) {
      if (query.bytes !== undefined && !this.#allowed.show) return this.#findUpTo(query.bytes, ids)
      const finding = this.#store.find(collection, ids, this.#allowed)
      return whenReady(finding, (found) => found.slice(0, query.limit ?? undefined))
    }
    if (this.#isAside) return this.#readBase().list(query)
    return this.#store.list(collection, { filter: this.#allowed.restrict(asked), ...others })
  }

  /** Finds documents until they exceed `bytes`, counted roughly. Returns them, and in `rest` the remaining ids. */
  async #findUpTo(bytes: number, ids: readonly string[]): Promise<Listed> {
    const found: StoredDocument[] = []
    let left = bytes
    for (let i = 0; i < ids.length; i += AT_ONCE) {
      if (left < 0) return Object.assign(found, { rest: ids.slice(i) })
      const some = ids.slice(i, i + AT_ONCE)
      for (const document of await this.#store.find(this.#allowed.storage.name, some, this.#allowed)) {
        left -= boundBytes(document)
        found.push(document)
      }
    }
    return found
  }

  async count(filter: Filter): Promise<number> {
    if (this.#isAside) return this.#readBase().count(filter)
    // Only the number of documents matters. With a limit of one byte, the list keeps their ids and no documents.
    const asked = { filter: this.#allowed.restrict(filter), bytes: 1 }
    const { length, rest = [] } = await this.#store.list(this.#allowed.storage.name, asked)
    return length + rest.length
  }

  aggregate(query: Parameters<Reader['aggregate']>[0]): ReturnType<Reader['aggregate']> {
    return this.#isAside ? this.#readBase().aggregate(query) : undefined
  }

  isOrdered(query: StoreQuery): boolean {
    return !this.#isAside || this.#readBase().isOrdered(query)
  }

  async *stream(query: StoreQuery): AsyncGenerator<readonly StoredDocument[], void, undefined> {
    if (this.#isAside) yield* this.#readBase().stream(query)
    else {
      const { bytes: _, ...whole } = query
      yield await this.list(whole)
    }
  }

  get #isAside(): boolean {
    return this.#store.isAside(this.#allowed.storage.name)
  }
}

/** The steps to find out whether an agreement still counts: about 1 µs. */
const STEPS_AN_AGREEMENT = 20

/** Converts the error of an operation to the error of the whole write. */
type BlameOperation = (operation: number, thrown: unknown) => unknown

/** A condition that the state after the pending writes does not meet: the operation at fault, and its error. */
export interface Broken {
  readonly operation: number
  readonly thrown: unknown
}

/** The conditions on referring documents that a pending write has left. */
type Left = Leaving & { readonly write: PendingWrite }

/** The steps of all pending writes. The last ones are those of `left`. */
export interface PlannedSteps {
  readonly steps: readonly WriteStep[]
  readonly left: readonly Left[]
}

/** The parts of the plans of collections that a batch needs. */
type Plans = ReadonlyMap<string, { readonly storage: Pick<CollectionPlan, 'indexes'> }>

/** The references that pending writes have given to a document. */
interface Given {
  readonly names: DocumentName[]
  readonly deferred: Deferred[]
}

/**
 * The state of the storage for an operation of a batch, or a hook: after the pending writes of earlier operations.
 * Documents that were read by `_id` are cached. If one of them has changed since then, the write that relies on it
 * fails.
 */
export class BatchStore implements Store {
  readonly pending = new PendingWrites()
  /** The index of the operation that is being evaluated. */
  operation = 0
  readonly #base: Store
  readonly #budget: ByteBudget
  readonly #reads: ReadBudget
  readonly #plans: Plans
  readonly #conditions: Conditions | undefined
  /** The readable documents that were read, by collection and `_id`. */
  readonly #known = new Map<string, Map<string, StoredDocument>>()
  /**
   * The `_id`s for which the storage had no document, by collection; always empty if the store has conditions. A write
   * that creates such a document fails if a concurrent write has already created it.
   */
  readonly #absent = new Map<string, ReadonlySet<string>>()
  #isOver = false
  #work = 0

  /** Everything that is read is recorded in `conditions`, so that the write can require that it is unchanged. */
  constructor(base: Store, budget: ByteBudget, plans: Plans, conditions?: Conditions) {
    this.#base = base
    this.#plans = plans
    this.#budget = budget
    this.#reads = new ReadBudget(budget)
    this.#conditions = conditions
  }

  /** Returns an upper bound of the bytes of documents that were read or written since the last call. */
  takeWork(): number {
    const work = this.#work
    this.#work = 0
    return work
  }

  /** Removes the pending writes of an operation and of all later operations. Later reads read the storage again. */
  rewind(operation: number): void {
    this.pending.rewind(operation)
    this.#known.clear()
    this.#absent.clear()
    this.#isOver = true
  }

  /**
   * Lets the operation at fault throw its error: the last one that wrote the document whose step failed, or, if two
   * documents have the same unique values, the later of their last ones. If no operation is at fault, returns, so that
   * the write is evaluated again.
   */
  async refuse(planned: PlannedSteps, failure: WriteFailure, blame: BlameOperation): Promise<void> {
    const write = this.#findBlamed(planned, failure)
    if (!write) return
    this.rewind(write.operation)
    try {
      await (write.attempt.refuse ?? refuseTaken)(failure)
    } catch (thrown) {
      throw blame(write.operation, thrown)
    }
  }

  #findBlamed(
    { steps, left }: PlannedSteps,
    { step: place, reason, fields = [] }: WriteFailure,
  ): PendingWrite | undefined {
    const leaving = left[place - (steps.length - left.length)]
    if (leaving) return leaving.isRestricting ? leaving.write : undefined
    const step = steps[place]
    const id = step && idOf(step)
    const written = id === undefined ? undefined : this.pending.lastOf(step?.in ?? '', id)
    if (!step || !written?.document || reason !== 'unique') return undefined
    let { write } = written
    for (const { fields: columns, readKey } of this.#uniqueIn(step.in)) {
      if (columns.map(({ path }) => path).join() !== fields.join()) continue
      const key = readKey(written.document)
      for (const other of this.pending.collections.get(step.in)?.documents.values() ?? [])
        if (other.document && readKey(other.document) === key && other.write.place > write.place)
          write = other.write
    }
    return write
  }

  #uniqueIn(collection: string): readonly UniqueValues[] {
    return compileUnique(this.#plans.get(collection)?.storage.indexes ?? [])
  }

  /**
   * Plans the steps of all pending writes: what the storage must still have, the documents in an order in which unique
   * values become free before others take them, and the conditions on documents that refer to deleted ones.
   */
  planSteps(): MaybePromise<PlannedSteps> {
    const exchanging = [...this.pending.collections].filter(([name, { documents }]) =>
      mayExchange(this.#plans.get(name)?.storage.indexes ?? [], documents),
    )
    const stored = new Map<string, ReadonlyMap<string, StoredDocument>>()
    const reading = inTurn(exchanging, ([name, { documents }]) =>
      whenReady(this.#findStored(name, documents), (found) => {
        stored.set(name, found)
      }),
    )
    return whenReady(reading, () => this.#plan(stored))
  }

  /** Returns the replaced documents as they are stored. */
  #findStored(
    collection: string,
    documents: ReadonlyMap<string, Written>,
  ): MaybePromise<ReadonlyMap<string, StoredDocument>> {
    const known = entryOf(this.#known, collection)
    const unknown = [...documents].flatMap(([id, { first }]) =>
      'replace' in first && !known.has(id) ? [id] : [],
    )
    if (unknown.length === 0) return known
    return whenReady(
      this.#learn(collection, unknown, UNRESTRICTED),
      (learned) => new Map([...known, ...learned]),
    )
  }

  #plan(stored: ReadonlyMap<string, ReadonlyMap<string, StoredDocument>>): PlannedSteps {
    const steps: WriteStep[] = []
    for (const step of this.pending.required)
      if (!('require' in step && this.#conditions?.isRequired(step.in, step.require))) steps.push(step)
    const searches: WriteStep[] = []
    for (const [name, { documents, removed }] of this.pending.collections) {
      const standing: Standing[] = []
      const others: string[] = []
      for (const [id, written] of documents) {
        if (isStanding(written)) standing.push(written)
        const { document, first } = written
        if (document !== null && !('remove' in first)) continue
        const step = stepToRemove(id, written)
        if (step) steps.push(step)
        else if ('remove' in first) others.push(id)
      }
      if (others.length > 0) steps.push({ in: name, remove: or(others.map(isId)) })
      const before = stored.get(name)
      const unique = before ? this.#uniqueIn(name) : NONE_UNIQUE
      for (const step of orderWrites(standing, unique, (id) => before?.get(id))) steps.push(step)
      // The searches come last, so that they see all concurrent writes that a change of a document excludes. What they
      // remove of the written documents is already known.
      const kept = standing.length > 0 && removed.length > 0 ? [not(or([...documents.keys()].map(isId)))] : []
      for (const { filter } of removed) searches.push({ in: name, remove: and([filter, ...kept]) })
    }
    const left = this.pending.writes.flatMap((write): readonly Left[] =>
      write.attempt.leave
        ? write.attempt.leave(this.pending.isStanding).map((leaving) => ({ ...leaving, write }))
        : NONE_LEFT,
    )
    for (const step of searches) steps.push(step)
    for (const { step } of left) steps.push(step)
    return { steps, left }
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

  /**
   * Returns `undefined`, so that nothing is cached: each read must be recorded, and earlier operations may have
   * written.
   */
  state(): undefined {
    return undefined
  }

  /** Returns `undefined`, because earlier operations may have written the linked documents. */
  linked(): undefined {
    return undefined
  }

  /** Returns `undefined`, as `linked` does. */
  together(): undefined {
    return undefined
  }

  /** Whether lists of a collection can be read directly from the storage, because no pending write affects them. */
  isAside(collection: string): boolean {
    return !this.#conditions && !this.pending.hasTouched(collection)
  }

  /**
   * Finds the first condition of operation `since` or a later one that the state after the pending writes does not meet:
   * references, unique values and deletes in the order of operations, then agreements. A condition between two documents
   * is one of the later operation of the two, so if a later operation breaks the condition of an earlier one, it has a
   * condition of its own.
   */
  async findBroken(since: number): Promise<Broken | undefined> {
    const { agreements, writes } = this.pending
    addSteps((agreements.length + writes.length) * STEPS_AN_AGREEMENT)
    const given = this.#collectGiven()
    for (const write of writes) {
      if (write.operation < since) continue
      for await (const failure of this.#findUnmet(write, given)) {
        try {
          await (write.attempt.refuse ?? refuseTaken)(failure)
        } catch (thrown) {
          return { operation: write.operation, thrown }
        }
      }
    }
    for (const { operation, step, refuse } of agreements)
      if (operation >= since && !(await this.#meets(step))) return { operation, thrown: refuse?.() }
    return undefined
  }

  /** Returns the references that the pending writes have given, by the document that has them. */
  #collectGiven(): ReadonlyMap<string, Given> {
    const all = new Map<string, Given>()
    for (const { attempt } of this.pending.writes) {
      const { steps, deferred = [] } = attempt
      const names = steps.flatMap((step) =>
        'require' in step && step.version === undefined ? [{ collection: step.in, id: step.require }] : [],
      )
      if (names.length + deferred.length === 0) continue
      for (const step of steps) {
        const document = documentIn(step)
        if (!document) continue
        const key = `${step.in}/${document._id}`
        const given = all.get(key) ?? { names: [], deferred: [] }
        all.set(key, given)
        given.names.push(...names)
        given.deferred.push(...deferred)
      }
    }
    return all
  }

  /** Finds the conditions of a write that the state after the pending writes does not meet. */
  async *#findUnmet(
    write: PendingWrite,
    given: ReadonlyMap<string, Given>,
  ): AsyncGenerator<Refusable, void, undefined> {
    const { steps, leave } = write.attempt
    for (const [place, step] of steps.entries()) {
      const id = documentIn(step)?._id
      const last = id === undefined ? undefined : this.pending.lastOf(step.in, id)
      if (!last?.document || last.write !== write) continue
      const { document } = last
      const unmet = { ok: false, step: place, isSettled: true } as const
      // As for an operation alone, a taken value shows only beside references that are allowed.
      const targets = await this.#findLacking(given.get(`${step.in}/${document._id}`) ?? NONE_GIVEN, write)
      if (targets.length > 0) yield { ...unmet, reason: 'missing', targets }
      const fields = await this.#findTaken(step.in, document, write)
      if (fields) yield { ...unmet, reason: 'unique', fields }
    }
    for (const leaving of leave?.(this.pending.isStanding) ?? [])
      if (leaving.isRestricting && (await this.#isReferred(leaving, write, given)))
        yield { ok: false, step: steps.length, reason: 'found', isSettled: true }
  }

  /** Finds the fields of a unique index whose values a document shares with one that no later write has written. */
  async #findTaken(
    collection: string,
    document: StoredDocument,
    write: PendingWrite,
  ): Promise<readonly string[] | undefined> {
    for (const { fields } of this.#uniqueIn(collection)) {
      const values = fields.map((field): Filter | undefined => {
        const value = compileField(field)(document)
        return value === undefined ? undefined : { kind: 'eq', field, value }
      })
      if (!values.every((value) => value !== undefined)) continue
      const later = this.#writtenAfter(collection, write)
      const filter = and([...values, not(or([document._id, ...later].map(isId)))])
      if (await this.own(collection).first(filter)) return fields.map(({ path }) => path)
    }
    return undefined
  }

  /**
   * Returns the referenced documents that do not exist, or that the writer may not refer to, except those that a later
   * write has removed: then that write is at fault.
   */
  async #findLacking({ names, deferred }: Given, { place }: PendingWrite): Promise<readonly DocumentName[]> {
    const lacking: DocumentName[] = []
    const asked = new Map<string, string[]>()
    for (const { collection, id } of names) asked.set(collection, [...(asked.get(collection) ?? []), id])
    for (const [collection, ids] of asked) {
      const found = new Set((await this.find(collection, ids, UNRESTRICTED)).map(({ _id }) => _id))
      for (const id of ids) if (!found.has(id)) lacking.push({ collection, id })
    }
    for (const { collection, ids, findAllowed } of deferred) {
      const allowed = await findAllowed()
      for (const id of ids) if (!allowed?.has(id)) lacking.push({ collection, id })
    }
    return lacking.filter(({ collection, id }) => {
      const last = this.pending.lastOf(collection, id)
      return last?.document !== null || last.write.place <= place
    })
  }

  /** Whether a document refers to a deleted one. Documents that a later write has made refer to it do not count. */
  async #isReferred(
    { step, gone }: Leaving,
    write: PendingWrite,
    given: ReadonlyMap<string, Given>,
  ): Promise<boolean> {
    const refers = (id: string): boolean => {
      const { names, deferred } = given.get(`${step.in}/${id}`) ?? NONE_GIVEN
      const ids = [...names.map((name) => name.id), ...deferred.flatMap((one) => [...one.ids])]
      return ids.some((one) => gone.includes(one))
    }
    const later = this.#writtenAfter(step.in, write).filter(refers)
    const filter = later.length > 0 ? and([step.refuse, not(or(later.map(isId)))]) : step.refuse
    return (await this.own(step.in).first(filter)) !== undefined
  }

  /** Returns the `_id`s of the documents whose last write comes after a write. */
  #writtenAfter(collection: string, { place }: PendingWrite): readonly string[] {
    return [...(this.pending.collections.get(collection)?.documents ?? [])].flatMap(([id, { write }]) =>
      write.place > place ? [id] : [],
    )
  }

  async #meets(step: WriteStep | undefined): Promise<boolean> {
    if (step === undefined) return true
    const reader = this.own(step.in)
    if ('refuse' in step) return (await reader.first(step.refuse)) === undefined
    if (!('require' in step)) throw new Error('an agreement requires or refuses documents')
    const document = await reader.find(step.require)
    return document !== undefined && (step.where === undefined || compileFilter(step.where)(document))
  }

  /** Makes the write pending. It is committed, and retried, with the whole batch. */
  write<T>(attempt: () => MaybePromise<Attempt<T>>): MaybePromise<T> {
    return whenReady(attempt(), (write) => {
      for (const step of write.steps) {
        const document = documentIn(step)
        if (document) this.#work += this.#budget.take(document)
      }
      if (write.steps.length > 0 || write.leave) this.pending.add(this.operation, write)
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

  /** Returns this store, because all operations of a batch share its deadline and the caller of its writes. */
  within(): Store {
    return this
  }

  by(): Store {
    return this
  }

  /** Returns the readable documents with some ids, in the order of `ids`. */
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

  /**
   * Returns a document as a pending write left it, or else as it is stored. Stored documents that are shown count
   * towards the budget.
   */
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

  /** Returns the documents that match, in order. */
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
        this.#conditions?.require(collection, document)
      }
    }
    return whenReady(this.#readAll(collection, { filter: untouched, sort, limit: most }, take), () => {
      // If the read stopped at its limit, there may be more documents, so nothing is required about them.
      if (this.#conditions && read !== most && !this.#conditions.areRequired(collection, filter)) {
        const known = [...stored.map(({ _id }) => _id), ...touched.keys()]
        this.#conditions.close(collection, filter, [untouched, not(or(known.map(isId)))])
      }
      const written = this.pending.written(collection).filter(compileFilter(filter))
      if (written.length === 0) return hold.page(stored.slice(skip, end ?? undefined))
      const [order, slice] = [compileDocumentOrder(sort), endless()]
      const all = [...stored, ...written].sort((a, b) => order(a, b, slice))
      return hold.page(all.slice(skip, end ?? undefined))
    })
  }

  /** Reads documents that are not cached yet. Unreadable documents count as absent and are not cached. */
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
        this.#conditions?.require(collection, document)
      }
    }
    return whenReady(this.#readAll(collection, { filter: or(ids.map(isId)) }, take), () => {
      if (missing.size > 0 && !this.#conditions)
        this.#absent.set(collection, new Set([...missing, ...(this.#absent.get(collection) ?? [])]))
      if (absent.size > 0)
        this.#conditions?.miss(collection, absent, allowed.restrict(or(Array.from(absent, isId))))
      return learned
    })
  }

  #count(document: StoredDocument, { show }: Allowed): boolean {
    return this.#reads.count(document, this.#conditions && !this.#isOver ? show : undefined)
  }

  /** Reads stored documents, and calls `take` with each batch. */
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
}

const documentIn = (step: WriteStep): StoredDocument | undefined =>
  'insert' in step ? step.insert : 'replace' in step ? step.replace : undefined

const isStanding = (written: Written): written is Standing => written.document !== null

/** Whether a written document may take a unique value that another one gives up. */
function mayExchange(indexes: readonly IndexPlan[], documents: ReadonlyMap<string, Written>): boolean {
  if (documents.size < 2 || !indexes.some(({ unique }) => unique)) return false
  for (const { document, first } of documents.values()) if (document && 'replace' in first) return true
  return false
}

const NONE_UNIQUE: readonly UniqueValues[] = []
const NONE_LEFT: readonly Left[] = []
const NONE_GIVEN: Given = { names: [], deferred: [] }

async function takeAll<T>(batches: AsyncIterable<T>, take: (batch: T) => void): Promise<void> {
  for await (const batch of batches) take(batch)
}

function entryOf<V>(maps: Map<string, Map<string, V>>, collection: string): Map<string, V> {
  const known = maps.get(collection) ?? new Map<string, V>()
  maps.set(collection, known)
  return known
}
