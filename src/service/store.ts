import { and, everything, type Filter, hasPattern, isId } from '../filter/filter.js'
import { isOrderIndexed } from '../filter/index-order.js'
import type { ReadAccess } from '../permissions/read-gate.js'
import { isUuid } from '../schema/names.js'
import type { Listed, ListQuery, StorageAdapter, StoredDocument, WriteResult, WriteStep } from '../storage.js'
import type { MaybePromise } from '../types.js'
import type { Deadline } from './deadline.js'
import { conflict, overtaken } from './refusals.js'

/** A query without a signal. Default: all documents, in any order. */
export type StoreQuery = Partial<Omit<ListQuery, 'signal'>> & {
  /** Where a page by key goes on: a bound on the first key of `sort`, which leads the filter. */
  readonly range?: Filter
}

/** Reads the documents that may be read; every query is restricted to them. */
export interface Reader {
  /** The document with an `_id`. */
  find(id: string): Promise<StoredDocument | undefined>
  /** The first match, if any. */
  first(filter: Filter): Promise<StoredDocument | undefined>
  list(query: StoreQuery): Promise<Listed>
  count(filter: Filter): Promise<number>
  /**
   * The same as `list` in batches; `undefined` where an index gives the order or the storage has no `stream`.
   */
  stream(query: StoreQuery): AsyncIterable<readonly StoredDocument[]> | undefined
}

/** Why a write did not take effect. */
export type WriteFailure = Extract<WriteResult, { readonly ok: false }>

/** One attempt at a write. */
export interface Attempt<T> {
  /** All take effect, or none; an empty list writes nothing. */
  readonly steps: readonly WriteStep[]
  /** The result of the write if it takes effect. */
  readonly done: T
  /** Throws where another attempt is of no use. Default: it throws for values that are taken. */
  readonly refuse?: (failure: WriteFailure) => MaybePromise<void>
}

/** The only access to the storage. */
export interface Store {
  /** Reads within an access. */
  read(access: ReadAccess): Reader
  /** Reads with the service's own authority: sessions, accounts, references to a document. */
  own(collection: string): Reader
  /**
   * Writes, and tries again where another write came first. Every attempt must read anew. Throws
   * `unique_violation`, `overloaded`, and what `attempt` throws.
   */
  write<T>(attempt: () => MaybePromise<Attempt<T>>): Promise<T>
  /** The same storage with another deadline. */
  within(deadline: Deadline): Store
}

/** The most attempts at one write (CONTRACT.md §2, "Concurrency"). */
const MAX_ATTEMPTS = 10

/** The most bytes of documents that are read into memory at once. */
export const BATCH_BYTES = 1024 * 1024

/** Creates the store of `adapter` until `deadline`. */
export function createStore(adapter: StorageAdapter, deadline: Deadline): Store {
  return {
    read: (access) => createReader(adapter, deadline, access),
    own: (name) => createReader(adapter, deadline, { storage: { name, indexes: [] }, ...UNRESTRICTED }),
    async write(attempt) {
      for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
        const { steps, done, refuse = refuseTaken } = await attempt()
        if (steps.length === 0) return done
        deadline.enter('write')
        const result = await adapter.write(steps, signalOf(deadline))
        if (result.ok) return done
        await refuse(result)
      }
      throw overtaken()
    },
    within: (other) => createStore(adapter, other),
  }
}

/** What costs most is judged last. */
function putPatternsLast(filter: Filter): Filter {
  if (filter.kind !== 'and' || !filter.filters.some(hasPattern)) return filter
  const costly = filter.filters.filter(hasPattern)
  return and([...filter.filters.filter((part) => !costly.includes(part)), ...costly])
}

type Allowed = Pick<ReadAccess, 'storage' | 'filter' | 'isReadable'>

const UNRESTRICTED: Omit<Allowed, 'storage'> = { filter: everything, isReadable: () => true }

function createReader(adapter: StorageAdapter, deadline: Deadline, allowed: Allowed): Reader {
  const { storage, filter: mine } = allowed
  /**
   * The rule stands before all that is asked: how long a hidden document takes must not tell what it holds. Only the
   * bound of a page by key leads, so that an index can seek.
   */
  const narrow = ({ range = everything, filter = everything }: StoreQuery): Filter =>
    and([range, mine, putPatternsLast(filter)])
  const ask = (asked: StoreQuery, filter: Filter): ListQuery => {
    const { sort = [], skip = 0, limit = null, bytes } = asked
    deadline.enter('read')
    return {
      filter,
      sort,
      skip,
      limit,
      ...(bytes === undefined ? {} : { bytes }),
      get signal() {
        return deadline.signal
      },
    }
  }
  return {
    async find(id) {
      if (!isUuid(id)) return undefined
      const [document] = await adapter.list(storage.name, ask({ limit: 1 }, isId(id)))
      return document && allowed.isReadable(document) ? document : undefined
    },
    async first(filter) {
      const [document] = await adapter.list(storage.name, ask({ limit: 1 }, narrow({ filter })))
      return document
    },
    async list(query) {
      return adapter.list(storage.name, ask(query, narrow(query)))
    },
    async count(filter) {
      deadline.enter('read')
      return adapter.count(storage.name, narrow({ filter }), signalOf(deadline))
    },
    stream(query) {
      const filter = narrow(query)
      if (!adapter.stream || isOrderIndexed(storage.indexes, filter, query.sort ?? [])) return undefined
      return adapter.stream(storage.name, ask(query, filter))
    },
  }
}

/** A value that is taken stays taken. After any other failure another attempt may succeed. */
const refuseTaken = ({ reason, fields = [] }: WriteFailure): void => {
  if (reason === 'unique') throw conflict(fields)
}

/** A signal is costly: it is created only for an adapter that reads it. */
const signalOf = (deadline: Deadline): { readonly signal: AbortSignal } => ({
  get signal() {
    return deadline.signal
  },
})
