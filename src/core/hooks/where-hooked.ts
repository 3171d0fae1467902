import type { Collection } from '../config/plan.js'
import type { SYSTEM_FIELDS } from '../fields/schema/names.js'
import type { StoredDocument } from '../storage.js'
import type { JsonObject, MaybePromise } from '../types.js'

/** A write that was authorized, before it is made. */
export interface PlannedWrite {
  readonly collection: Collection
  /** `null` for a new document. */
  readonly before: StoredDocument | null
  /** `null` for a deleted one. */
  readonly after: PlannedDocument | null
}

/** A document as it would be stored. */
export interface PlannedDocument {
  /** Secrets in it may be in plain text; hooks do not see them. */
  readonly fields: JsonObject
  readonly system: { readonly [name in (typeof SYSTEM_FIELDS)[number]]: unknown }
}

/** The result of a hook for a write. */
export interface SettledWrite {
  /** The fields to store. */
  readonly fields: JsonObject
  /** Runs after the write (see `Attempt`). */
  readonly behind?: (() => Promise<void>) | undefined
}

/** State that writes with a common effect share: the operations of a batch, or a write and those of its hook. */
export interface Shared {
  /** The number of documents deleted by cascades. */
  cascaded: number
  /** The number of documents of a bulk, or of operations of a batch; 1 for any other write. */
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
  /** The same for deletes, which may delete documents of other collections. */
  hasBelow(collection: string): boolean
  /** Calls the hook of a collection that has one. Throws `refused`, and the errors of the hook. */
  ask(call: Call, write: PlannedWrite): Promise<SettledWrite>
  /**
   * Runs several writes that take effect together, or not at all. Each sees the ones before it. `operations`: the
   * number that the client requested.
   */
  together<T>(call: Call, run: (own: Call) => MaybePromise<T>, operations?: number): MaybePromise<T>
}

/** The parts of a request that hooks concern. */
interface Hooked<Call> {
  readonly service: { readonly hooks?: Hooks<Call> }
  readonly shared?: Pick<Shared, 'added'> | undefined
}

/**
 * Runs a write to a collection; if it has a hook, together with the operations that the hook adds. These may change
 * what was written: `tell` then builds the result again.
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

/** Calls the hook of a collection; `undefined` if there is none. Only inside `whereHooked`. */
export function askHook<Call extends Hooked<Call>>(
  call: Call,
  write: PlannedWrite,
): Promise<SettledWrite> | undefined {
  const { hooks } = call.service
  return hooks?.has(write.collection.name) ? hooks.ask(call, write) : undefined
}
