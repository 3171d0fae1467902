import { and, everything, type Filter } from '../../filter/filter.js'
import { isUuid } from '../../json/uuid.js'
import type { ReadAccess } from '../../permissions/read-gate.js'
import { whenReady } from '../../promises.js'
import type { Listed, StoredDocument } from '../../storage.js'
import type { MaybePromise } from '../../types.js'
import { boundBytes } from '../byte-budget.js'
import type { Reader, StoreQuery } from '../store.js'
import { idsIn } from './pending-writes.js'

/** The read access of a reader; reads with the service's own authority have no `show`. */
export type Allowed = Pick<ReadAccess, 'restrict' | 'isReadable'> & Partial<Pick<ReadAccess, 'show'>>

/** A query that is defined by its filter. */
export type BatchQuery = Pick<StoreQuery, 'sort' | 'skip' | 'limit' | 'bytes'> & { readonly filter: Filter }

/** The storage as it is after the pending writes. */
export interface Stage {
  /** The readable documents with some ids, in the order of `ids`. */
  find(collection: string, ids: readonly string[], allowed: Allowed): MaybePromise<readonly StoredDocument[]>
  /** The documents that match, in order. */
  list(collection: string, asked: BatchQuery): MaybePromise<Listed>
  /** Whether lists of a collection can be read directly from the storage. */
  isAside(collection: string): boolean
}

/** The same with its collection. */
type AllowedIn = Allowed & { readonly storage: Pick<ReadAccess['storage'], 'name'> }

/** The documents found at once if they may be large. */
const AT_ONCE = 16

export const UNRESTRICTED: Allowed = { restrict: (filter) => filter, isReadable: () => true }

/** Reads for one operation. */
export class BatchReader implements Reader {
  readonly #store: Stage
  readonly #allowed: AllowedIn
  readonly #readBase: () => Reader

  constructor(store: Stage, allowed: AllowedIn, readBase: () => Reader) {
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
    // With a byte limit the query is about existence: the documents may be many, and large.
    if (ids && !(this.#isAside && query.bytes !== undefined)) {
      if (query.bytes !== undefined && !this.#allowed.show) return this.#findUpTo(query.bytes, ids)
      const finding = this.#store.find(collection, ids, this.#allowed)
      return whenReady(finding, (found) => found.slice(0, query.limit ?? undefined))
    }
    if (this.#isAside) return this.#readBase().list(query)
    return this.#store.list(collection, { filter: this.#allowed.restrict(asked), ...others })
  }

  /** Finds documents until they exceed `bytes`, counted roughly; returns the ids of the rest. */
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
    // Only existence matters, not the content.
    const asked = { filter: this.#allowed.restrict(filter), bytes: 1 }
    const { length, rest = [] } = await this.#store.list(this.#allowed.storage.name, asked)
    return length + rest.length
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
