import type { FieldRef, Filter } from './filter/filter.js'
import type { JsonObject, MaybePromise } from './types.js'

export type { MaybePromise } from './types.js'

/**
 * A document as it is stored: JSON, with `_id` and the whole number `_version`, which is below 2^53. Names that
 * begin with `_` belong to the service and, except `_id`, are never shown.
 */
export type StoredDocument = { readonly _id: string; readonly _version: number } & JsonObject

/**
 * An index over fields. A unique one covers documents that have all of them, of the declared types. At most one field has `each`, and
 * then it is not unique: it has an entry for each document and distinct element of the declared type, so a document without such
 * elements has none, and the index serves only reads with an equality, or an `or` of equalities, on exactly that field.
 */
export interface IndexPlan {
  readonly fields: readonly FieldRef[]
  readonly unique: boolean
}

/** How the changes of a collection are recorded in the log. */
export interface LogPlan {
  /** Properties of documents that never enter the log, as those with hashes. */
  readonly omit: readonly string[]
  /** The milliseconds for which a change is kept at least. */
  readonly keep: number
  /** The same for a change behind a mark (`CollectionPlan.mark`). Default: `keep`. */
  readonly keepMarked?: number
  /**
   * The bytes of documents, as the storage keeps them, beyond which the oldest changes of the whole log go before their
   * time, unless they lie after a mark. The newest stays. Default: no limit.
   */
  readonly bytes?: number
}

/** What a storage has to know of a collection. Plain JSON. */
export interface CollectionPlan {
  readonly name: string
  readonly indexes: readonly IndexPlan[]
  /**
   * Each write through this adapter is recorded. Default: none is. Only for an adapter with `changes`. Where an adapter was
   * opened over the same storage without it, writes may be missing: positions from before are a `gap` from then on.
   */
  readonly log?: LogPlan
  /**
   * A property in which each document of this collection may hold a position of the log: what lies behind it
   * is not yet handled by somebody, and is kept for `keepMarked`.
   */
  readonly mark?: string
}

/** One key of an order. */
export interface SortKey {
  readonly field: FieldRef
  readonly descending: boolean
}

/** A list that the service asks for. */
export interface ListQuery {
  readonly filter: Filter
  /** Ends in `_id`, so the order is total; empty where the order does not matter. */
  readonly sort: readonly SortKey[]
  readonly skip: number
  readonly limit: number | null
  /**
   * The most bytes of JSON that an adapter returns if it has to bring documents into memory. It MUST return
   * the first document and none beyond these bytes, and name the others in `rest`. Default: no limit. An
   * adapter whose documents are in memory anyway ignores it.
   */
  readonly bytes?: number
  readonly signal?: AbortSignal
  readonly caller?: CallOptions['caller']
}

/** The result of a list. `rest`: the `_id`s of the documents beyond `bytes`, in order; absent for none. */
export type Listed = readonly StoredDocument[] & { readonly rest?: readonly string[] }

/**
 * One step of a `write`, on the collection `in`. `require`: a document with this `_id` must exist, in this
 * `version` and matching `where` if they are given, when the write takes effect; behind a step that changes
 * the document, the new one counts. Documents may be frozen: an adapter that adds to one copies it first.
 */
export type WriteStep = { readonly in: string } & (
  | { readonly insert: StoredDocument }
  | { readonly replace: StoredDocument; readonly version: number }
  | { readonly remove: Filter; readonly expect?: number }
  | { readonly require: string; readonly version?: number; readonly where?: Filter }
  | { readonly refuse: Filter; readonly turn?: Turn }
)

/**
 * Two writes with a turn in one collection MUST NOT run at the same time, unless each of their turns there is `shared`.
 * Where writes run one after another anyway, it means nothing.
 */
export type Turn = 'shared' | 'alone'

/**
 * The result of a `write`. `unique`: the values of an index are taken; `fields` is `["_id"]`, or else the
 * fields of the first such index in the order of the plan. It is checked step by step, after the version of a
 * `replace`. `changed`: the stored version is another, the document to replace is gone, the required one does
 * not match, or `expect` was not met. `missing`: the required id does not exist. `found`: a document matches a refused filter.
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
 * What one write made of a document: from before the whole write to after it, without what `LogPlan.omit` names.
 * Absent at both ends, or not written, it has no change.
 */
export interface Change {
  readonly in: string
  readonly id: string
  readonly before: StoredDocument | null
  readonly after: StoredDocument | null
  /** Which write it is of: the same number for all changes of one, another for those beside them. */
  readonly write: number
  /** When it was written, by the storage's clock, in milliseconds since 1970. */
  readonly time: number
  /** The `by` of its write; `null` for a write without, and for changes that were recorded before there was a `by`. */
  readonly by: string | null
  /** Where to read on behind it. */
  readonly position: string
}

/** The options of every call for a request. */
export interface CallOptions {
  readonly signal?: AbortSignal
  /**
   * Whose call it is, as an opaque text. An adapter in which calls wait SHOULD serve callers in turn, not calls in order, so
   * that one with many calls holds up no other. It MUST NOT appear in a result. Absent: one caller that is common to all such
   * calls. It may be a getter that costs: an adapter in which no call waits does not read it.
   */
  readonly caller?: string | undefined
}

/** The options of a write. */
export interface WriteOptions extends CallOptions {
  /** The caller of the write, which is recorded with its changes: at most 1,024 bytes. Default: `null`. */
  readonly by?: string | null
}

/** What is asked of the log. */
export interface ChangeQuery {
  /** The most changes, at least one. */
  readonly limit: number
  /** The most bytes of JSON of a page, unless it has one change; as in `ListQuery`. Default: no limit. */
  readonly bytes?: number
  /** The milliseconds to wait for a change where there is none yet. Default: 0. */
  readonly wait?: number
  readonly signal?: AbortSignal
}

/** Changes in the order of the log. */
export interface ChangePage {
  readonly changes: readonly Change[]
  /** Where to read on: behind the last of `changes`. Without any, the place of `after`, with the present time. */
  readonly position: string
  /** Whether there may be more at once. */
  readonly more: boolean
  /**
   * Whether changes behind `after` may be missing, or come again: they are no longer kept, `after` is not a
   * position of this log, a restored backup has another change at its place, or the storage was replaced by a copy. `changes` begins with the first that may follow.
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
  /** A random UUID, which means that id in the filters of the lists. */
  readonly link: string
  readonly lists: readonly LinkedList[]
}

/** The result of `readLinked`; without the document, no lists. */
export interface LinkedFound {
  readonly document: StoredDocument | undefined
  /** In the order of the lists, each in any order; `undefined` in place of one that `list` has to read. */
  readonly lists: readonly (readonly StoredDocument[] | undefined)[]
}

/**
 * Stores documents. An adapter decides nothing: `matches` defines what a filter means, `compare` defines the
 * order, and access was checked before.
 *
 * - Results MUST be safe from later writes and from changes that the caller makes to its arguments.
 * - A storage that cannot be reached MUST reject with a `ServiceError` of code `storage_unavailable`, or
 *   `outcome_unknown` where a write may have happened.
 */
export interface StorageAdapter {
  /** Creates what is missing; never drops or rewrites. MUST be safe to call again and from many processes. */
  open(plans: readonly CollectionPlan[]): Promise<void>
  /** The documents that match, in order, after `skip`, at most `limit`. */
  list(collection: string, query: ListQuery): MaybePromise<Listed>
  /**
   * The same in batches, in memory that does not grow with the list. The service calls it where no index
   * gives the order, and calls `list` where it is absent. Documents MUST match when the stream begins or when
   * they are returned. Aborting `signal` ends it.
   */
  stream?(collection: string, query: ListQuery): AsyncIterable<readonly StoredDocument[]>
  count(collection: string, filter: Filter, options: CallOptions): MaybePromise<number>
  /**
   * Runs all steps in order, or none; each sees the effects of those before it. Writes MUST behave as if they
   * ran one after another, but for what a look overlooks: a `refuse`, or a `remove` whose filter names no `_id`.
   * It MUST see all writes that come before and change or `require` a document that a step before it changes, or
   * that change one that a step before it requires in a version or to match. Others that run at the same time may
   * count as if they came behind it.
   *
   * When `signal` aborts before anything was written, it MAY reject at once with `storage_unavailable`: the caller then
   * learns that nothing was written, instead of `outcome_unknown`. Nothing MUST be written afterwards.
   */
  write(steps: readonly WriteStep[], options: WriteOptions): MaybePromise<WriteResult>
  /**
   * Reads on in the log of the collections whose plans have a `log`. `null`: an empty page that ends behind all
   * that was acknowledged so far.
   *
   * - All processes see one order, and nothing ever appears before what was already read.
   * - The changes of a document MUST be in the order of its versions. Those of one write are recorded in the same
   *   atomic step, and lie in the order of `_id`, then of `in`.
   * - A position is text, of 256 characters at most beside `_id` and `in`; any adapter over the same place reads it.
   *   It MUST tell its change from another one that takes the place in a restored storage.
   * - Changes that are older than every `keep`, or `keepMarked`, or beyond the largest `bytes`, MUST go in the course of
   *   later writes and reads, in bounded steps, the oldest first.
   */
  changes?(after: string | null, query: ChangeQuery): Promise<ChangePage>
  /**
   * A text for the content of some collections, at once. It MUST be another text as soon as a `list` or `count` can see a write to one
   * of them, of any process, and MAY change without one; the service uses what it read of them for as long as it is the same.
   * `undefined` where that is not known without waiting. Default: nothing is kept.
   */
  state?(collections: readonly string[]): string | undefined
  /**
   * Reads a document and lists that follow from it, all at one moment, where that costs less than to ask one after another; so
   * the service does it where this is absent.
   */
  readLinked?(linked: Linked, options: CallOptions): MaybePromise<LinkedFound>
  close(): Promise<void>
  /** What observers of requests call it: `memory`, `sqlite`, `postgresql`, or the name of another engine. */
  readonly system?: string
  /** Documents that the service validates like bodies and stores when it first opens the adapter. */
  readonly seed?: { readonly [collection: string]: readonly unknown[] }
}
