import { textOf } from '../fair-queue.js'
import { and, everything, type FieldRef, type Filter, isId } from '../filter/filter.js'
import { isOrderIndexed } from '../filter/index-order.js'
import { simplify } from '../filter/simplify.js'
import { isUuid } from '../json/uuid.js'
import type { ReadAccess } from '../permissions/read-gate.js'
import { isPromise, whenReady } from '../promises.js'
import type {
  Aggregated,
  AggregateQuery,
  CallOptions,
  ChangePage,
  ChangeQuery,
  Linked,
  LinkedFound,
  LinkedList,
  Listed,
  ListedTogether,
  ListQuery,
  StorageAdapter,
  StoredDocument,
  WriteResult,
  WriteStep,
} from '../storage.js'
import type { MaybePromise } from '../types.js'
import type { Deadline } from './deadline.js'
import { observeStorage, type StorageCalls } from './observe-storage.js'
import { conflict, overtaken } from './refusals.js'
import type { Agreement, Attempt, WriteFailure } from './store/attempt.js'
import { type Turn, Turns } from './store/turns.js'

/** Returns the document whose version a step depends on, as `<collection>/<_id>`, if it is exactly one. */
export function documentOf(step: WriteStep | undefined): string | undefined {
  const id = step && idOf(step)
  return id && `${step.in}/${id}`
}

/**
 * Returns the documents that steps create, change or remove. `require` steps are excluded, because readers do not block
 * writers.
 */
export const writtenBy = (steps: readonly WriteStep[]): readonly string[] =>
  steps.flatMap((step) => ('require' in step ? [] : (documentOf(step) ?? [])))

/** Like `documentOf`, but returns only the `_id` of the document. */
export function idOf(step: WriteStep): string | undefined {
  if ('insert' in step) return step.insert._id
  if ('replace' in step) return step.replace._id
  if ('require' in step) return step.version === undefined ? undefined : step.require
  return 'remove' in step && step.expect !== undefined ? idIn(step.remove) : undefined
}

/** Returns the `_id` that a filter requires; other conditions of the filter are ignored. */
function idIn(filter: Filter): string | undefined {
  if (filter.kind === 'and') return filter.filters.map(idIn).find((id) => id !== undefined)
  return filter.kind === 'eq' && filter.field.path === '_id' ? String(filter.value) : undefined
}

const VERSION: FieldRef = { path: '_version', type: 'integer', each: false }

/** Returns the step that removes a document, if it still has this version. */
export const removeVersion = (
  collection: string,
  { _id, _version }: Pick<StoredDocument, '_id' | '_version'>,
): WriteStep => ({
  in: collection,
  remove: and([isId(_id), { kind: 'eq', field: VERSION, value: _version }]),
  expect: 1,
})

/** A failed attempt that may be retried. */
export class Lost {
  /** The documents for which the retry should wait in the queues of writers. */
  readonly at: readonly string[]
  /** The document of `at` that a concurrent write changed first. */
  readonly met: string | undefined
  /** The document that a concurrent write changed first, if this attempt only reads it. */
  readonly read: string | undefined
  /** The key of the agreement that was not met. */
  readonly broken: string | undefined

  constructor(
    at: readonly string[],
    { met, read, broken }: Partial<Pick<Lost, 'met' | 'read' | 'broken'>> = {},
  ) {
    this.at = at
    this.met = met
    this.read = read
    this.broken = broken
  }
}

/**
 * An attempt that was not written, because other writers already wait in turn for its documents. It does not count
 * towards the maximum number of attempts.
 */
export class LeftToOthers extends Lost {}

/**
 * The number of lost attempts after which a writer that only reads a document waits in turn with the writers of that
 * document.
 */
const LOST_AS_READER = 3

/**
 * The factor by which such a writer may make more attempts: each attempt that it loses means that a concurrent write
 * has succeeded, possibly in another process.
 */
const TIMES_AS_READER = 10

const mostOf = ({ read }: Lost, attempts: number): number =>
  read === undefined ? attempts : attempts * TIMES_AS_READER

/**
 * Retries a write after a lost attempt, up to `attempts` times in total. Before each retry, the writer waits for its
 * turn at the contended documents; a writer that is too slow continues without turns. Returns the last attempt if all
 * were lost.
 */
export async function tryInTurn<T>(
  turns: Turns,
  attempt: (last: Lost) => MaybePromise<T | Lost>,
  first: Lost,
  {
    attempts,
    deadline,
  }: { readonly attempts: number; readonly deadline: Pick<Deadline, 'caller' | 'onOver' | 'enter'> },
): Promise<T | Lost> {
  const contended = new Set<string>()
  let turn: Turn | undefined
  let last = first
  try {
    for (let tried = first instanceof LeftToOthers ? 0 : 1; tried < mostOf(last, attempts); tried += 1) {
      const at = last.read === undefined || tried < LOST_AS_READER ? last.at : [...last.at, last.read]
      const others = at.filter((document) => !contended.has(document))
      if (at.length > 0 && !turn?.isSlow && (others.length > 0 || !turn?.isWhole)) {
        for (const document of others) contended.add(document)
        turn?.end()
        deadline.enter('turn')
        turn = await turns.take(contended, deadline)
      }
      const began = performance.now()
      const result = await attempt(last)
      const lost = result instanceof Lost ? result : undefined
      turn?.tell(performance.now() - began, lost?.met ?? lost?.read)
      if (!(result instanceof Lost)) return result
      last = result
    }
    return last
  } finally {
    turn?.end()
  }
}

/** A query without a signal. Default: all documents, in any order. */
export type StoreQuery = Partial<Omit<ListQuery, 'signal'>> & {
  /**
   * The position at which a list continues: a condition on the first key of `sort`, which becomes the first condition
   * of the filter.
   */
  readonly range?: Filter
}

/** A query for groups. */
type GroupQuery = Omit<AggregateQuery, keyof CallOptions>

/** Reads documents under an access: every query is restricted to the documents that the access allows. */
export interface Reader {
  /** Returns the document with an `_id`. */
  find(id: string): MaybePromise<StoredDocument | undefined>
  /** Returns the first document that matches, if any. */
  first(filter: Filter): MaybePromise<StoredDocument | undefined>
  list(query: StoreQuery): MaybePromise<Listed>
  count(filter: Filter): MaybePromise<number>
  /**
   * Groups the documents that match (see `StorageAdapter.aggregate`); returns `undefined` if the storage cannot do that,
   * or if pending writes affect the result.
   */
  aggregate(query: GroupQuery): MaybePromise<Aggregated> | undefined
  /** Whether to read a list page by page with `range`: an index provides its order, or the storage has no `stream`. */
  isOrdered(query: StoreQuery): boolean
  /** Like `list`, but in batches. */
  stream(query: StoreQuery): AsyncIterable<readonly StoredDocument[]>
}

const NONE: readonly Agreement[] = []

/** The interface through which requests access the storage; there is no other. */
export interface Store {
  /**
   * Returns a reader for an access. Reads for comparison only, whose documents are never shown, do not count towards
   * the read limit of a batch.
   */
  read(access: ReadAccess, use?: 'show' | 'compare'): Reader
  /** Returns a reader with the service's own rights, for sessions, accounts and references to a document. */
  own(collection: string): Reader
  /**
   * Returns a token for the state of collections (see `StorageAdapter.state`); `undefined` if nothing that this store
   * reads from them may be cached.
   */
  state(collections: readonly string[]): string | undefined
  /**
   * Reads linked documents in one call (see `StorageAdapter.readLinked`); returns `undefined` if the storage cannot do
   * that.
   */
  linked(asked: Linked): MaybePromise<LinkedFound> | undefined
  /**
   * Reads several lists as of one moment (see `StorageAdapter.listTogether`); returns `undefined` if the storage cannot
   * do that.
   */
  together(lists: readonly LinkedList[]): MaybePromise<ListedTogether> | undefined
  /**
   * Writes in up to `attempts` attempts (default: ten), each of which calls `attempt`. Throws `unique_violation`,
   * `overloaded`, and the errors of `attempt` and its agreements.
   */
  write<T>(attempt: () => MaybePromise<Attempt<T>>, attempts?: number): MaybePromise<T>
  /** Returns the same store with another deadline. */
  within(deadline: Deadline): Store
  /** Returns the same store, but records its changes as those of `caller`. Default: `null`. */
  by(caller: string | null): Store
}

/** Reads the log of changes from a position (see `StorageAdapter.changes`). */
export type ReadLog = (after: string | null, query: ChangeQuery) => Promise<ChangePage>

/**
 * Creates the function that reads the log of `adapter`. The adapter was opened with plans that require a log. `enter` is
 * called before each read.
 */
export const createLog =
  (adapter: StorageAdapter, enter: () => MaybePromise<undefined>): ReadLog =>
  async (after, query) => {
    await enter()
    const page = await adapter.changes?.(after, query)
    if (!page) throw new Error('the storage keeps no log of changes')
    return page
  }

/** The maximum number of attempts at one write (CONTRACT.md §2, "Concurrency"). */
const MAX_ATTEMPTS = 10

/** Called with the steps of each write that has taken effect. */
export type NoteWrite = (steps: readonly WriteStep[]) => void

/** Creates a store that works until a deadline. Its storage calls are recorded in `calls`, its writes by `noteWrite`. */
export type CreateStore = (deadline: Deadline, calls?: StorageCalls, noteWrite?: NoteWrite) => Store

/** Whether the last write to the storage failed, in contrast to one that was made or that its steps rejected. */
export class LastWrite {
  hasFailed = false
  /** A property, so that a write creates no function for it. */
  readonly fail = (thrown: unknown): never => {
    this.hasFailed = true
    throw thrown
  }
}

/** The parts that all stores of a service share. */
interface SharedParts {
  readonly turns: Turns
  readonly lastWrite: LastWrite
  /** Only set for the stores of one request. */
  readonly noteWrite?: NoteWrite
}

/**
 * Returns the function that creates the stores of a service. All their writers share the same queues, and note in
 * `lastWrite` whether they failed.
 */
export function createStores(adapter: StorageAdapter, lastWrite = new LastWrite()): CreateStore {
  const shared: SharedParts = { turns: new Turns(), lastWrite }
  return (deadline, calls, noteWrite) =>
    new DeadlineStore(
      calls ? observeStorage(adapter, calls) : adapter,
      deadline,
      noteWrite ? { ...shared, noteWrite } : shared,
    )
}

/** Creates a store of `adapter` that works until `deadline`, with queues of its own. */
export const createStore = (adapter: StorageAdapter, deadline: Deadline): Store =>
  createStores(adapter)(deadline)

/** A class, like the ones below, so that a request does not create a closure for each method. */
class DeadlineStore implements Store {
  readonly #adapter: StorageAdapter
  readonly #deadline: Deadline
  readonly #shared: SharedParts
  readonly #caller: string | null

  constructor(
    adapter: StorageAdapter,
    deadline: Deadline,
    shared: SharedParts,
    caller: string | null = null,
  ) {
    this.#adapter = adapter
    this.#deadline = deadline
    this.#shared = shared
    this.#caller = caller
  }

  read(access: ReadAccess): Reader {
    return new StoreReader(this.#adapter, this.#deadline, access)
  }

  own(name: string): Reader {
    return new StoreReader(this.#adapter, this.#deadline, { storage: { name, indexes: [] }, ...UNRESTRICTED })
  }

  state(collections: readonly string[]): string | undefined {
    return this.#adapter.state?.(collections)
  }

  linked(asked: Linked): MaybePromise<LinkedFound> | undefined {
    if (!this.#adapter.readLinked) return undefined
    this.#deadline.enter('read')
    return this.#adapter.readLinked(asked, new StoreCallOptions(this.#deadline))
  }

  together(lists: readonly LinkedList[]): MaybePromise<ListedTogether> | undefined {
    if (!this.#adapter.listTogether) return undefined
    this.#deadline.enter('read')
    return this.#adapter.listTogether(lists, new StoreCallOptions(this.#deadline))
  }

  write<T>(attempt: () => MaybePromise<Attempt<T>>, attempts = MAX_ATTEMPTS): MaybePromise<T> {
    return whenReady(this.#try(attempt), (first) => {
      if (!(first instanceof Lost)) return first
      const again = (last: Lost): MaybePromise<T | Lost> => this.#try(attempt, last)
      const within = { attempts, deadline: this.#deadline }
      return tryInTurn(this.#shared.turns, again, first, within).then((result) => {
        if (result instanceof Lost) throw overtaken()
        return result
      })
    })
  }

  /**
   * Makes one attempt. The first attempt is not written if other writers already wait in turn for a document that it
   * would write.
   */
  #try<T>(attempt: () => MaybePromise<Attempt<T>>, last?: Lost): MaybePromise<T | Lost> {
    return whenReady(attempt(), (attempted) => {
      const { steps, agreements = NONE, done, isTrial = false } = attempted
      const { turns, lastWrite, noteWrite } = this.#shared
      if (steps.length === 0) return done
      const judging = agreements.filter(({ step }) => step)
      const all = judging.length === 0 ? steps : [...steps, ...judging.flatMap(({ step }) => step ?? [])]
      if (last === undefined && !isTrial && turns.lines.size > 0) {
        const taken = turns.findTaken(writtenBy(all))
        if (taken.length > 0) return new LeftToOthers(taken)
      }
      this.#deadline.enter(isTrial ? 'read' : 'write')
      let writing: MaybePromise<WriteResult>
      try {
        writing = this.#adapter.write(all, new StoreWriteOptions(this.#deadline, this.#caller))
      } catch (thrown) {
        return lastWrite.fail(thrown)
      }
      return whenReady(
        isPromise(writing) ? Promise.resolve(writing).catch(lastWrite.fail) : writing,
        (result) => {
          lastWrite.hasFailed = false
          if (result.ok) {
            noteWrite?.(all)
            attempted.after?.()
            return done
          }
          const broken = judging[result.step - steps.length]
          // Usually the write is retried first: the next attempt checks the references again, and can report a broken
          // one with its path in the body.
          if (broken && (result.reason === 'found' || broken.key === last?.broken)) throw broken.refuse?.()
          return whenReady(broken ? undefined : judgeFailure(attempted, result), (overtaken) =>
            this.#lose(isTrial ? [] : writtenBy(all), overtaken ?? documentOf(all[result.step]), broken?.key),
          )
        },
      )
    })
  }

  /** Describes a lost attempt. `failed` is the document of the step that failed. */
  #lose(
    written: ReturnType<typeof writtenBy>,
    failed: ReturnType<typeof documentOf>,
    broken: string | undefined,
  ): Lost {
    const met = written.find((document) => document === failed)
    const at = met === undefined ? [] : [met, ...this.#shared.turns.findTaken(written)]
    const read = met === undefined ? failed : undefined
    return new Lost(at, { met, read, broken })
  }

  within(deadline: Deadline): Store {
    return new DeadlineStore(this.#adapter, deadline, this.#shared, this.#caller)
  }

  by(caller: string | null): Store {
    return caller === this.#caller
      ? this
      : new DeadlineStore(this.#adapter, this.#deadline, this.#shared, caller)
  }
}

type Allowed = Pick<ReadAccess, 'storage' | 'restrict' | 'isReadable'>

const UNRESTRICTED: Omit<Allowed, 'storage'> = { restrict: (filter) => filter, isReadable: () => true }

class StoreReader implements Reader {
  readonly #adapter: StorageAdapter
  readonly #deadline: Deadline
  readonly #allowed: Allowed

  constructor(adapter: StorageAdapter, deadline: Deadline, allowed: Allowed) {
    this.#adapter = adapter
    this.#deadline = deadline
    this.#allowed = allowed
  }

  find(id: string): MaybePromise<StoredDocument | undefined> {
    if (!isUuid(id)) return undefined
    return whenReady(this.#ask({ limit: 1 }, isId(id)), ([document]) =>
      document && this.#allowed.isReadable(document) ? document : undefined,
    )
  }

  first(filter: Filter): MaybePromise<StoredDocument | undefined> {
    return whenReady(this.list({ filter, limit: 1 }), ([document]) => document)
  }

  list(query: StoreQuery): MaybePromise<Listed> {
    return this.#ask(query, this.#narrow(query))
  }

  count(filter: Filter): MaybePromise<number> {
    const { storage, restrict } = this.#allowed
    this.#deadline.enter('read')
    return this.#adapter.count(storage.name, restrict(filter), new StoreCallOptions(this.#deadline))
  }

  aggregate({ filter, ...query }: GroupQuery): MaybePromise<Aggregated> | undefined {
    if (!this.#adapter.aggregate) return undefined
    const { storage, restrict } = this.#allowed
    this.#deadline.enter('read')
    const asked = Object.assign(new StoreCallOptions(this.#deadline), query, { filter: restrict(filter) })
    return this.#adapter.aggregate(storage.name, asked)
  }

  isOrdered(query: StoreQuery): boolean {
    const { indexes } = this.#allowed.storage
    return !this.#adapter.stream || isOrderIndexed(indexes, this.#narrow(query), query.sort ?? UNSORTED)
  }

  async *stream(query: StoreQuery): AsyncGenerator<readonly StoredDocument[], void, undefined> {
    const asked = ask(this.#deadline, query, this.#narrow(query))
    if (this.#adapter.stream) yield* this.#adapter.stream(this.#allowed.storage.name, asked)
    else yield await this.list(query)
  }

  /** Adds `range` as the first condition, so that an index can seek to this position. */
  #narrow({ range, filter = everything }: StoreQuery): Filter {
    const mine = this.#allowed.restrict(filter)
    return range ? simplify(and([range, mine])) : mine
  }

  #ask(query: StoreQuery, filter: Filter): MaybePromise<Listed> {
    this.#deadline.enter('read')
    return this.#adapter.list(this.#allowed.storage.name, ask(this.#deadline, query, filter))
  }
}

const DEADLINE = Symbol('deadline')

/**
 * The options of a storage call. Creating the signal of a deadline is costly, so it is created only when an adapter
 * reads it. The property is an own property, so that a copy of the options has it. All objects share one getter,
 * because engines would keep a getter per object in memory, together with the request, until a full garbage collection.
 */
class StoreCallOptions {
  declare readonly signal?: AbortSignal
  declare readonly caller?: string
  readonly [DEADLINE]: Deadline

  constructor(deadline: Deadline) {
    this[DEADLINE] = deadline
    if (typeof deadline.caller === 'string') this.caller = deadline.caller
    else if (deadline.caller) Object.defineProperty(this, 'caller', CALLER)
    if (!deadline.isUnhurried) Object.defineProperty(this, 'signal', SIGNAL)
  }
}

class StoreWriteOptions extends StoreCallOptions {
  readonly by: string | null

  constructor(deadline: Deadline, by: string | null) {
    super(deadline)
    this.by = by
  }
}

const SIGNAL: PropertyDescriptor & ThisType<StoreCallOptions> = {
  enumerable: true,
  get() {
    return this[DEADLINE].signal
  },
}

const CALLER: PropertyDescriptor & ThisType<StoreCallOptions> = {
  enumerable: true,
  get() {
    return textOf(this[DEADLINE].caller)
  },
}

const ask = (deadline: Deadline, query: StoreQuery, filter: Filter): ListQuery =>
  Object.assign(new StoreCallOptions(deadline), {
    filter,
    sort: query.sort ?? UNSORTED,
    skip: query.skip ?? 0,
    limit: query.limit ?? null,
    ...(query.bytes === undefined ? undefined : { bytes: query.bytes }),
  })

const UNSORTED: ListQuery['sort'] = []

/**
 * Throws if a retry cannot help; otherwise returns the document that a concurrent write changed, if the attempt knows
 * it.
 */
const judgeFailure = (
  { findOvertaken, refuse = refuseTaken }: Attempt<unknown>,
  failure: WriteFailure,
): MaybePromise<string | undefined> =>
  whenReady(findOvertaken?.(failure), (overtaken) => overtaken ?? whenReady(refuse(failure), () => undefined))

/**
 * Throws if a unique value is taken, because it would still be taken in a retry. After any other failure a retry may
 * succeed.
 */
export const refuseTaken = ({ reason, fields = [] }: WriteFailure): void => {
  if (reason === 'unique') throw conflict(fields)
}
