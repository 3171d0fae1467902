import type { Collection } from '../config/plan.js'
import type { SYSTEM_FIELDS } from '../fields/schema/names.js'
import type { StoredDocument } from '../storage.js'
import type { JsonObject, MaybePromise } from '../types.js'

/** A write that is authorized, and not made yet. */
export interface PlannedWrite {
  readonly collection: Collection
  /** `null` for a new document. */
  readonly before: StoredDocument | null
  /** `null` for a delete. */
  readonly after: PlannedDocument | null
}

/** A document as it would be stored. */
export interface PlannedDocument {
  /** May contain secrets in plain text, which hooks do not see. */
  readonly fields: JsonObject
  readonly system: { readonly [name in (typeof SYSTEM_FIELDS)[number]]: unknown }
}

/** The result of a hook for a write. */
export interface SettledWrite {
  /** The fields to store. */
  readonly fields: JsonObject
  /** Runs the operations that the hook added, after the write (see `Attempt`). */
  readonly behind?: (() => Promise<void>) | undefined
}

/**
 * The state that writes share if they take effect together: the operations of a batch, or a write and the operations
 * that its hook adds.
 */
export interface Shared {
  /** The number of documents deleted by cascades. */
  cascaded: number
  /** The number of documents of a bulk create, or of operations of a batch; 1 for any other write. */
  readonly asked: number
  /** The number of operations that hooks have added. */
  added: number
  /** The names of the properties that hooks have set. */
  readonly chosen: Set<string>
}

/**
 * The hooks of the host, which add to writes or reject them (CONTRACT.md §9, "Before a write"). `Call` is the request
 * that writes.
 */
export interface Hooks<Call> {
  /** Whether a collection has a hook. */
  has(collection: string): boolean
  /** Whether a collection has a hook, or a delete in it can delete or change documents of a collection with one. */
  hasBelow(collection: string): boolean
  /** Calls the hook of a collection that has one. Throws `refused`, and the errors of the hook. */
  ask(call: Call, write: PlannedWrite): Promise<SettledWrite>
  /**
   * Runs several writes that take effect together, or not at all. Each sees the writes before it. `operations` is the
   * number of operations that the client requested.
   */
  together<T>(call: Call, run: (own: Call) => MaybePromise<T>, operations?: number): MaybePromise<T>
}

/** The parts of a request that concern hooks. */
interface Hooked<Call> {
  readonly service: { readonly hooks?: Hooks<Call> }
  readonly shared?: Pick<Shared, 'added'> | undefined
}

/**
 * Runs a write to a collection. If the collection has a hook, the operations that the hook adds run with the write.
 * They may change the document, so `tell` then creates the result again.
 */
export function whereHooked<Call extends Hooked<Call>, T>(
  call: Call,
  collection: Collection,
  run: (own: Call) => MaybePromise<T>,
  tell: (own: Call, done: T, collection: Collection) => MaybePromise<T> = (_, done) => done,
): MaybePromise<T> {
  const { hooks } = call.service
  if (!hooks?.has(collection.name)) return run(call)
  return hooks.together(call, async (own) => {
    const before = own.shared?.added
    const done = await run(own)
    return own.shared?.added === before ? done : tell(own, done, collection)
  })
}

/** Calls the hook of the collection; `undefined` if it has none. Call it only inside `whereHooked`. */
export function askHook<Call extends Hooked<Call>>(
  call: Call,
  write: PlannedWrite,
): Promise<SettledWrite> | undefined {
  const { hooks } = call.service
  return hooks?.has(write.collection.name) ? hooks.ask(call, write) : undefined
}
