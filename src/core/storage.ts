import type { FieldRef, Filter } from './filter/filter.js'
import type { JsonObject, MaybePromise } from './types.js'

export type { MaybePromise } from './types.js'

/**
 * A document as it is stored: JSON, with `_id` and the integer `_version`, which is below 2^53. Names that begin with
 * `_` belong to the service and, except `_id`, are never shown.
 */
export type StoredDocument = { readonly _id: string; readonly _version: number } & JsonObject

/**
 * An index over fields. A unique one covers documents that have all of them, of the declared types. At most one field
 * has `each`, and then the index is not unique: it has an entry for each document and distinct element of the
 * declared type, so a document without such elements has none, and the index serves only reads with an equality, or
 * an `or` of equalities, on exactly that field.
 */
export interface IndexPlan {
  readonly fields: readonly FieldRef[]
  readonly unique: boolean
}

/** How the changes of a collection are recorded in the log. */
export interface LogPlan {
  /** Properties of documents that never enter the log, such as password hashes. */
  readonly omit: readonly string[]
  /** The milliseconds for which a change is kept at least. */
  readonly keep: number
  /** The same for a change after a mark (`CollectionPlan.mark`). Default: `keep`. */
  readonly keepMarked?: number
  /**
   * The bytes of documents, as stored, beyond which the oldest changes of the whole log are dropped early, unless
   * they lie after a mark. The newest change stays. Default: no limit.
   */
  readonly bytes?: number
}

/** The storage's description of a collection. Plain JSON. */
export interface CollectionPlan {
  readonly name: string
  readonly indexes: readonly IndexPlan[]
  /**
   * Records each write through this adapter. Default: no write is recorded. Only for an adapter with `changes`. If an
   * adapter without this option was opened over the same storage, writes may be missing: earlier positions are then a
   * `gap`.
   */
  readonly log?: LogPlan
  /**
   * A property in which each document of this collection may hold a position of the log: changes after it have not
   * been handled yet, and are kept for `keepMarked`.
   */
  readonly mark?: string
}

/** One key of an order. */
export interface SortKey {
  readonly field: FieldRef
  readonly descending: boolean
}

/** A list query of the service. */
export interface ListQuery {
  readonly filter: Filter
  /** Ends in `_id`, so the order is total; empty if the order does not matter. */
  readonly sort: readonly SortKey[]
  readonly skip: number
  readonly limit: number | null
  /**
   * The most bytes of JSON that an adapter returns if it has to load documents into memory. It MUST return the first
   * document and none beyond these bytes, and list the others in `rest`. Default: no limit. An adapter whose
   * documents are in memory anyway ignores it.
   */
  readonly bytes?: number
  readonly signal?: AbortSignal
  readonly caller?: CallOptions['caller']
}

/** The result of a list. `rest`: the `_id`s of the documents beyond `bytes`, in order; absent if there are none. */
export type Listed = readonly StoredDocument[] & { readonly rest?: readonly string[] }

/**
 * One step of a `write`, on the collection `in`. `require`: a document with this `_id` must exist, in this `version`
 * and matching `where` if they are given, when the write takes effect; after a step that changes the document, the
 * new one counts. `refuse`: no document may match. Documents may be frozen: an adapter that adds properties copies
 * them first.
 */
export type WriteStep = { readonly in: string } & (
  | { readonly insert: StoredDocument }
  | { readonly replace: StoredDocument; readonly version: number }
  | { readonly remove: Filter; readonly expect?: number }
  | { readonly require: string; readonly version?: number; readonly where?: Filter }
  | { readonly refuse: Filter; readonly turn?: Turn }
)

/**
 * Two writes with a turn in one collection MUST NOT run at the same time, unless each of their turns there is
 * `shared`. An adapter that runs writes one after another ignores it.
 */
export type Turn = 'shared' | 'alone'

/**
 * The result of a `write`. `unique`: the values of an index are taken; `fields` is `["_id"]`, or else the fields of
 * the first such index in the order of the plan. It is checked step by step, after the version of a `replace`.
 * `changed`: the stored version differs, the document to replace was deleted, the required one does not match, or
 * `expect` was not met. `missing`: the required id does not exist. `found`: a document matches the filter of a
 * `refuse`.
 */
export type WriteResult =
  | { readonly ok: true; readonly removed: number }
  | {
      readonly ok: false
      readonly step: number
      readonly reason: 'unique' | 'changed' | 'missing' | 'found'
      readonly fields?: readonly string[]
    }

/**
 * The effect of one write on a document: from before the whole write to after it, without the properties in
 * `LogPlan.omit`. A document that is absent both before and after, or that was not written, has no change.
 */
export interface Change {
  readonly in: string
  readonly id: string
  readonly before: StoredDocument | null
  readonly after: StoredDocument | null
  /** The number of the write: equal for all changes of one write, different from those of its neighbours in the log. */
  readonly write: number
  /** When it was written, by the storage's clock, in milliseconds since 1970. */
  readonly time: number
  /** The `by` of its write; `null` for a write without one, and for changes recorded before `by` was introduced. */
  readonly by: string | null
  /** The position from which to read the next changes. */
  readonly position: string
}

/** The options of every call for a request. */
export interface CallOptions {
  readonly signal?: AbortSignal
  /**
   * The caller, as an opaque text. An adapter in which calls wait SHOULD serve callers in turn, not calls in order,
   * so that a caller with many calls does not delay others. It MUST NOT appear in a result. Calls without it share
   * one caller. It may be a costly getter: an adapter in which no call waits does not read it.
   */
  readonly caller?: string | undefined
}

/** The options of a write. */
export interface WriteOptions extends CallOptions {
  /** The caller of the write, which is recorded with its changes: at most 1,024 bytes. Default: `null`. */
  readonly by?: string | null
}

/** A query of the log. */
export interface ChangeQuery {
  /** The most changes, at least one. */
  readonly limit: number
  /** The most bytes of JSON of a page, unless it has one change; as in `ListQuery`. Default: no limit. */
  readonly bytes?: number
  /** The milliseconds to wait for a change if there is none yet. Default: 0. */
  readonly wait?: number
  readonly signal?: AbortSignal
}

/** Changes in the order of the log. */
export interface ChangePage {
  readonly changes: readonly Change[]
  /**
   * The position from which to read on: after the last of `changes`. Without changes, the place of `after`, with the
   * present time.
   */
  readonly position: string
  /** Whether there may be more changes already. */
  readonly more: boolean
  /**
   * Whether changes after `after` may be missing, or come again: they are no longer kept, `after` is not a position
   * of this log, a restored backup has another change at its place, or the storage was replaced by a copy. `changes`
   * begins with the first change that may follow.
   */
  readonly gap: boolean
}

/** A list whose filter may name a document that is read with it. */
export interface LinkedList {
  readonly in: string
  readonly filter: Filter
  readonly limit: number
}

/** A document, and lists that follow from it. */
export interface Linked {
  readonly in: string
  readonly id: string
  /** The field of the document that has the id of another one. */
  readonly field: string
  /** A random UUID, a placeholder for that id in the filters of the lists. */
  readonly link: string
  readonly lists: readonly LinkedList[]
}

/** The result of `readLinked`; without the document, no lists. */
export interface LinkedFound {
  readonly document: StoredDocument | undefined
  /** In the order of the lists, each in any order; `undefined` for a list that must be read with `list`. */
  readonly lists: readonly (readonly StoredDocument[] | undefined)[]
}

/**
 * Stores documents. An adapter decides nothing: `matches` defines the meaning of a filter, `compare` defines the
 * order, and access was checked before.
 *
 * - Results MUST be safe from later writes and from changes that the caller makes to its arguments.
 * - A storage that cannot be reached MUST reject with a `ServiceError` of code `storage_unavailable`, or
 *   `outcome_unknown` if a write may have happened.
 */
export interface StorageAdapter {
  /** Creates missing structures; never drops or rewrites. MUST be safe to call again and from many processes. */
  open(plans: readonly CollectionPlan[]): Promise<void>
  /** The documents that match, in order, after `skip`, at most `limit`. */
  list(collection: string, query: ListQuery): MaybePromise<Listed>
  /**
   * The same in batches, in memory that does not grow with the list. The service calls it if no index provides the
   * order, and calls `list` if it is absent. Documents MUST match when the stream begins or when they are returned.
   * Aborting `signal` ends it.
   */
  stream?(collection: string, query: ListQuery): AsyncIterable<readonly StoredDocument[]>
  count(collection: string, filter: Filter, options: CallOptions): MaybePromise<number>
  /**
   * Runs all steps in order, or none; each sees the effects of those before it. Writes MUST behave as if they ran one
   * after another, except for searches: a `refuse`, or a `remove` whose filter names no `_id`. A search MUST see all
   * earlier writes that change or `require` a document which a step before the search changes, and all earlier writes
   * that change a document which a step before it requires with a `version` or `where`. Other writes that run at the
   * same time may count as later ones.
   *
   * When `signal` aborts before anything was written, it MAY reject at once with `storage_unavailable`: the caller
   * then learns that nothing was written, instead of `outcome_unknown`. Nothing MUST be written afterwards.
   */
  write(steps: readonly WriteStep[], options: WriteOptions): MaybePromise<WriteResult>
  /**
   * Reads the log of the collections whose plans have a `log`, after a position. `null`: an empty page whose position
   * is after all changes acknowledged so far.
   *
   * - All processes see one order, and no change ever appears before one that was already read.
   * - The changes of a document MUST be in the order of its versions. Changes of one write are recorded in the same
   *   atomic step, in the order of `_id`, then of `in`.
   * - A position is text, of at most 256 characters besides `_id` and `in`; any adapter over the same storage accepts
   *   it. It MUST distinguish its change from another one at the same place of a restored storage.
   * - Changes that are older than every `keep`, or `keepMarked`, or beyond the largest `bytes`, MUST be dropped
   *   during later writes and reads, in bounded steps, the oldest first.
   */
  changes?(after: string | null, query: ChangeQuery): Promise<ChangePage>
  /**
   * A text that identifies the content of some collections, computed synchronously. It MUST change as soon as a
   * `list` or `count` can see a write of any process to one of them, and MAY change without one; the service caches
   * results of reads while it is the same. `undefined` if it is unknown without waiting. Default: nothing is cached.
   */
  state?(collections: readonly string[]): string | undefined
  /**
   * Reads a document and lists that follow from it, from one snapshot. Implement it only if it costs less than
   * separate reads, which the service uses otherwise.
   */
  readLinked?(linked: Linked, options: CallOptions): MaybePromise<LinkedFound>
  close(): Promise<void>
  /** The name of the engine for observers of requests: `memory`, `sqlite`, `postgresql`, or another one. */
  readonly system?: string
  /** Documents that the service validates like bodies and stores when it first opens the adapter. */
  readonly seed?: { readonly [collection: string]: readonly unknown[] }
}
