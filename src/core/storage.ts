import type { FieldRef, Filter, Scalar } from './filter/filter.js'
import type { JsonObject, MaybePromise } from './types.js'

export type { MaybePromise } from './types.js'

/**
 * A document as it is stored: JSON, with `_id` and the integer `_version`, which is below 2^53. Properties whose names
 * begin with `_` belong to the service and, except `_id`, are never shown to clients.
 */
export type StoredDocument = { readonly _id: string; readonly _version: number } & JsonObject

/**
 * An index over fields. A unique index covers the documents that have values of the declared types in all its fields.
 * At most one field has `each`, and an index with such a field is not unique: it has one entry for each document and
 * distinct element of the declared type. A document without such elements has no entry, so this index serves only
 * reads with an equality, or an `or` of equalities, on exactly that field.
 */
export interface IndexPlan {
  readonly fields: readonly FieldRef[]
  readonly unique: boolean
}

/** How the changes of a collection are recorded in the log. */
export interface LogPlan {
  /** Properties of documents that never enter the log, such as password hashes. */
  readonly omit: readonly string[]
  /** The minimum time for which a change is kept, in milliseconds. */
  readonly keep: number
  /** The minimum time for which a change after a mark (`CollectionPlan.mark`) is kept. Default: `keep`. */
  readonly keepMarked?: number
  /**
   * The maximum number of bytes of documents, as stored, in the whole log. Beyond them, the oldest changes are dropped
   * early, except changes that come after a mark. The newest change is always kept. Default: no limit.
   */
  readonly bytes?: number
}

/** Describes a collection to the storage. Plain JSON. */
export interface CollectionPlan {
  readonly name: string
  readonly indexes: readonly IndexPlan[]
  /**
   * How writes through this adapter are recorded in the log. Default: they are not recorded. Only for an adapter with
   * `changes`. If the same storage was also opened by an adapter without this option, the log may lack writes, so
   * reading from an earlier position reports a `gap`.
   */
  readonly log?: LogPlan
  /**
   * The name of a property in which documents of this collection may hold a mark, which is a position of the log.
   * Changes after the mark have not been handled yet, so they are kept for `keepMarked`.
   */
  readonly mark?: string
}

/** A unique index that is still in force although plans do not declare it: those of an earlier `open` did. */
export interface LeftIndex {
  readonly collection: string
  /** The dotted paths of its fields. */
  readonly fields: readonly string[]
  /** How an operator ends it: a command, such as `run drop-index a`. */
  readonly mend: string
}

/** One key of a sort order. */
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
   * The maximum number of bytes of JSON that an adapter returns if it has to load documents into memory. It MUST return
   * the first document even if that alone is larger, no other document beyond these bytes, and the ids of the remaining
   * documents in `rest`. Default: no limit. An adapter whose documents are always in memory ignores this limit.
   */
  readonly bytes?: number
  readonly signal?: AbortSignal
  readonly caller?: CallOptions['caller']
}

/**
 * The result of a list. `rest` contains the `_id`s of the documents beyond `bytes`, in order. It is absent if there
 * are none.
 */
export type Listed = readonly StoredDocument[] & { readonly rest?: readonly string[] }

/**
 * One step of a `write`, on the collection `in`. Documents may be frozen, so an adapter that adds properties copies
 * them first.
 *
 * - `replace`: a write may replace a document several times, also with the version that it has. Only the last document
 *   is ever visible, and the log has one change.
 * - `remove`: if `expect` is given, exactly this number of documents must match.
 * - `require`: a document with this `_id` must exist when the write takes effect. If `version` or `where` is given, it
 *   must have this version and match this filter. If an earlier step changes the document, its new state counts.
 * - `refuse`: no document may match.
 */
export type WriteStep = { readonly in: string } & (
  | { readonly insert: StoredDocument }
  | { readonly replace: StoredDocument; readonly version: number }
  | { readonly remove: Filter; readonly expect?: number }
  | { readonly require: string; readonly version?: number; readonly where?: Filter }
  | { readonly refuse: Filter; readonly turn?: Turn }
)

/**
 * Serializes writes: two writes that each have a step with a turn in the same collection MUST NOT run at the same
 * time, unless all these turns are `shared`. An adapter that runs writes one after another ignores turns.
 */
export type Turn = 'shared' | 'alone'

/**
 * The result of a `write`. If it failed, `step` is the index of the step that failed.
 *
 * - `unique`: the values of a unique index are taken. `fields` is `["_id"]`, or the fields of the first such index in
 *   the order of the plan. Uniqueness is checked step by step, after the version of a `replace`.
 * - `changed`: the stored version differs, the document to replace was deleted, the required document does not match,
 *   or `expect` was not met.
 * - `missing`: no document has the required `_id`.
 * - `found`: a document matches the filter of a `refuse`.
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
 * The effect of one write on one document: the document before and after the whole write, without the properties in
 * `LogPlan.omit`. `null` means absent. A document that is absent both before and after the write, or that was not
 * written, has no change.
 */
export interface Change {
  readonly in: string
  readonly id: string
  readonly before: StoredDocument | null
  readonly after: StoredDocument | null
  /**
   * The number of the write. All changes of one write have the same number, and the writes next to it in the log have
   * other numbers.
   */
  readonly write: number
  /** The time of the write by the storage's clock, in milliseconds since 1970. */
  readonly time: number
  /**
   * `WriteOptions.by` of the write; `null` for a write without `by`, and for changes recorded before `by` was
   * introduced.
   */
  readonly by: string | null
  /** Present if a run of `migrate` made the write (`WriteOptions.isMigration`). */
  readonly isMigration?: true
  /** The position from which to read the next changes. */
  readonly position: string
}

/** The options of every call that an adapter receives on behalf of a request. */
export interface CallOptions {
  readonly signal?: AbortSignal
  /**
   * The caller, as an opaque string. It MUST NOT appear in a result. If calls wait, an adapter SHOULD serve callers in
   * turn instead of calls in order of arrival, so that a caller with many calls does not delay others. All calls
   * without this option count as calls of one caller. The property may be a costly getter, so an adapter in which no
   * call waits does not read it.
   */
  readonly caller?: string | undefined
}

/** The options of a write. */
export interface WriteOptions extends CallOptions {
  /** The caller of the write, which is recorded with its changes: at most 1,024 bytes. Default: `null`. */
  readonly by?: string | null
  /** Whether a run of `migrate` makes the write, which is recorded with its changes. Default: false. */
  readonly isMigration?: boolean
}

/** A query of the log. */
export interface ChangeQuery {
  /** The maximum number of changes on a page; at least one. */
  readonly limit: number
  /** The maximum number of bytes of JSON of a page. A page with a single change may have more. Default: no limit. */
  readonly bytes?: number
  /** The milliseconds to wait for a change if there is none yet. Default: 0. */
  readonly wait?: number
  readonly signal?: AbortSignal
}

/** Changes in the order of the log. */
export interface ChangePage {
  readonly changes: readonly Change[]
  /**
   * The position from which to continue: after the last of `changes`. If there are no changes, this position is
   * equivalent to `after`, except that it has the current time.
   */
  readonly position: string
  /** Whether there may already be more changes after `position`. */
  readonly more: boolean
  /**
   * Whether changes after `after` may be missing or be repeated, because they are no longer kept, `after` is not a
   * position of this log, a restored backup has another change at this position, or the storage was replaced by a
   * copy. `changes` then begins with the first change that may come after `after`.
   */
  readonly gap: boolean
}

/** A list that is read together with others, or with a document: its filter may contain an id from that document. */
export interface LinkedList {
  readonly in: string
  readonly filter: Filter
  /** The maximum number of documents: any of those that match. */
  readonly limit: number
}

/** A document, and lists whose filters depend on it. */
export interface Linked {
  readonly in: string
  readonly id: string
  /** The field of the document that contains the id of a second document. */
  readonly field: string
  /** A random UUID that is a placeholder for the id in `field` in the filters of the lists. */
  readonly link: string
  readonly lists: readonly LinkedList[]
}

/** The result of `readLinked`. If the document does not exist, there are no lists. */
export interface LinkedFound {
  readonly document: StoredDocument | undefined
  readonly lists: ListedTogether
}

/**
 * The documents of several lists, in the order of the lists. The documents of one list are in any order. `undefined` for
 * a list that the service must read with `list` instead.
 */
export type ListedTogether = readonly (readonly StoredDocument[] | undefined)[]

/** An interval of time in UTC that begins where a shorter beginning of a timestamp in stored form ends. */
export type Interval = 'hour' | 'day' | 'month' | 'year'

/**
 * How a value becomes the key of its group: the value itself, the first instant of its interval in stored form, or the
 * last of some ascending edges that is not above the value. A value below the first edge has the key `null`.
 */
export type Cut = 'value' | Interval | readonly Scalar[]

/**
 * One part of the key of groups. The key of a document is `null` if it does not match `shown`, or has no value of the
 * type of `field`. If `field` has `each`, `cut` is `value`, and a document belongs to the group of each distinct element
 * of the type; to the group `null` if it has no array or does not match `shown`; to no group if its array has no such
 * element. At most one part has `each`.
 */
export interface GroupPart {
  readonly field: FieldRef
  readonly shown: Filter
  readonly cut: Cut
}

/**
 * A field whose values each group summarises: those of the documents that match `shown`, of the type of `field`.
 * `takes`: which summaries are needed. Only a number has a sum.
 */
export interface Measure {
  readonly field: FieldRef
  readonly shown: Filter
  readonly takes: readonly ('sum' | 'min' | 'max')[]
}

/** A query for groups of documents. */
export interface AggregateQuery extends CallOptions {
  readonly filter: Filter
  readonly by: readonly GroupPart[]
  readonly measures: readonly Measure[]
  /** The number of distinct keys beyond which an adapter may stop. */
  readonly limit: number
  /** The characters of all strings in distinct keys beyond which an adapter may stop. */
  readonly characters: number
}

/** The value of a part of a key; `null` for the group of documents without one. */
export type Key = Scalar | null

/** The exact sum of decimals, in the notation of a JSON number with any number of digits, and their number. */
export interface DecimalSum {
  readonly decimal: string
  readonly values: number
}

/**
 * Some documents of a group: their number, and for each measure the sum, the minimum and the maximum. These are `null`
 * if the measure does not take them; a minimum and a maximum also if there is no value. A value of a sum is the decimal
 * that JSON shows for the nearest double. `min` and `max` are in the order of `compare`.
 */
export interface PartialGroup {
  readonly key: readonly Key[]
  readonly count: number
  readonly sums: readonly (DecimalSum | null)[]
  readonly min: readonly Key[]
  readonly max: readonly Key[]
}

/** The groups of an aggregate: in any order, and a key may come several times. */
export interface Aggregated {
  readonly groups: readonly PartialGroup[]
  /** Whether the adapter stopped. `groups` then has more distinct keys than `limit`, or more than `characters` in them. */
  readonly isCut: boolean
}

/** All documents of a storage as of one moment. Writes after this moment MUST NOT affect it. */
export interface Snapshot {
  /** Returns the names of all collections that the storage has, in any order; also those that no plan names. */
  collections(): MaybePromise<readonly string[]>
  /**
   * Returns the next documents of a collection in the order of `_id`: those after the `_id` `after`, or the first ones
   * if it is an empty string. An empty list means that no documents are left, or that the storage lacks the
   * collection. An adapter that has to load documents into memory SHOULD return at most some MiB of JSON.
   */
  next(collection: string, after: string): MaybePromise<readonly StoredDocument[]>
  /** Frees what the snapshot holds, such as a connection. Its owner MUST call this method. */
  close(): Promise<void>
}

/**
 * Stores documents. An adapter makes no decisions of its own: `matches` defines the meaning of a filter, `compare`
 * defines the order, and the service has already checked access.
 *
 * - Later writes, and changes that the caller makes to its arguments, MUST NOT affect a result that was returned.
 * - If the storage cannot be reached, a call MUST reject with a `ServiceError` of code `storage_unavailable`, or
 *   `outcome_unknown` if a write may have happened.
 */
export interface StorageAdapter {
  /**
   * The highest `limits.documentBytes` with which the storage can store documents. A service with a higher one does not
   * start, and the default is at most this. Default: no limit.
   */
  readonly maxDocumentBytes?: number
  /**
   * Creates missing structures such as tables and indexes; never drops or rewrites any. MUST be safe to call again and
   * from many processes.
   */
  open(plans: readonly CollectionPlan[]): Promise<void>
  /** Returns the documents that match, in order: at most `limit` documents, after the first `skip` documents. */
  list(collection: string, query: ListQuery): MaybePromise<Listed>
  /**
   * Returns the same documents as `list`, in batches and in memory that does not grow with the list. The service calls
   * it if no index provides the order. Without this method, it calls `list`. Each document MUST match when the stream
   * begins or when the document is returned. Aborting `signal` ends the stream.
   */
  stream?(collection: string, query: ListQuery): AsyncIterable<readonly StoredDocument[]>
  count(collection: string, filter: Filter, options: CallOptions): MaybePromise<number>
  /**
   * Returns the groups of the documents that match, all as of one moment. Without `by`, the group whose key is empty
   * may be missing if nothing matches. Aborting `signal` ends the call. Without this method, the service reads the
   * documents and groups them itself.
   */
  aggregate?(collection: string, query: AggregateQuery): MaybePromise<Aggregated>
  /**
   * Runs all steps in order, or none. Each step sees the effects of the steps before it. Writes MUST behave as if they
   * ran one after another. Searches are the exception: a `refuse`, or a `remove` whose filter names no `_id`, may miss
   * writes that run at the same time. But a search MUST see these writes if they are earlier:
   *
   * - all that change or `require` a document which a step before the search changes;
   * - all that change a document which a step before the search requires with a `version` or `where`.
   *
   * If `signal` aborts before anything was written, the call MAY immediately reject with `storage_unavailable` instead
   * of `outcome_unknown`, so that the caller learns that nothing was written. In this case nothing MUST be written
   * afterwards.
   */
  write(steps: readonly WriteStep[], options: WriteOptions): MaybePromise<WriteResult>
  /**
   * Reads the log of the collections whose plans have a `log`, from a position on. If `after` is `null`, returns an
   * empty page whose position is after all changes that were already acknowledged.
   *
   * - All processes see the same order. No change ever appears before a change that was already read.
   * - The changes of a document MUST be in the order of its versions. Changes of one write are recorded in the same
   *   atomic step, ordered by `_id`, then by `in`.
   * - A position is a string of at most 256 characters, not counting those of `_id` and `in`. Any adapter over the
   *   same storage accepts it. It MUST distinguish its change from a different change at the same position of a
   *   restored storage.
   * - Later writes and reads MUST drop changes that are older than every `keep`, or `keepMarked`, or beyond the
   *   largest `bytes`: in bounded steps, the oldest first.
   */
  changes?(after: string | null, query: ChangeQuery): Promise<ChangePage>
  /**
   * Returns a string that identifies the content of some collections; `undefined` if it cannot be computed without
   * waiting. It MUST change as soon as a `list` or `count` can see a write of any process to one of them, and MAY
   * change without a write. The service caches results of reads while the string stays the same. Without this method,
   * nothing is cached.
   */
  state?(collections: readonly string[]): string | undefined
  /**
   * Reads a document, and lists whose filters depend on it, from one snapshot. Implement it only if it costs less than
   * separate reads: without this method, the service reads separately.
   */
  readLinked?(linked: Linked, options: CallOptions): MaybePromise<LinkedFound>
  /**
   * Reads several lists from one snapshot. Implement it only if it costs less than separate reads: without this method,
   * the service reads a claim that others use again after these.
   */
  listTogether?(lists: readonly LinkedList[], options: CallOptions): MaybePromise<ListedTogether>
  /**
   * Returns all documents as of one moment, which is between the call and its result. Later writes MUST NOT wait for the
   * snapshot. Dumps need this method.
   */
  snapshot?(): Promise<Snapshot>
  /**
   * Returns the unique indexes of the plans' collections that are still in force although the plans do not declare them.
   * An index over the same fields in another order, or with other types, counts as declared. Creates nothing. Without
   * this method, the service does not report such indexes.
   */
  leftUnique?(plans: readonly CollectionPlan[], options?: CallOptions): MaybePromise<readonly LeftIndex[]>
  /**
   * Drops the unique indexes of a collection over exactly these fields, which are dotted paths: in any order, and of any
   * types. Nothing happens if there are none. MUST be safe to call again after it was interrupted. The service never calls
   * this method; a command of an operator does.
   */
  dropUnique?(collection: string, fields: readonly string[]): Promise<void>
  close(): Promise<void>
  /** The name of the engine for observers of requests: `memory`, `sqlite`, `postgresql`, or another one. */
  readonly system?: string
  /** Documents that the service stores when it first opens the adapter. It validates them like request bodies. */
  readonly seed?: { readonly [collection: string]: readonly unknown[] }
}
