import type { Collection } from '../config/plan.js'
import type { SYSTEM_FIELDS } from '../schema/names.js'
import type { StoredDocument } from '../storage.js'
import type { JsonObject, MaybePromise } from '../types.js'

/** A write that was judged, before it is made. */
export interface PlannedWrite {
  readonly collection: Collection
  /** `null` for a document that is new. */
  readonly before: StoredDocument | null
  /** `null` for one that is deleted. */
  readonly after: PlannedDocument | null
}

/** A document as it would be stored. */
export interface PlannedDocument {
  /** Secrets among them may be in clear; hooks do not see them. */
  readonly fields: JsonObject
  readonly system: { readonly [name in (typeof SYSTEM_FIELDS)[number]]: unknown }
}

/** What a hook has made of a write. */
export interface SettledWrite {
  /** The fields to store. */
  readonly fields: JsonObject
  /** What will be done behind the write (see `Attempt`). */
  readonly behind?: (() => Promise<void>) | undefined
}

/** What writes that take effect together have in common: the operations of a batch, or a write and its hook's. */
export interface Shared {
  /** The documents that were deleted because others were. */
  cascaded: number
  /** The documents of a bulk, or the operations of a batch; 1 for any other write. */
  readonly asked: number
  /** The operations that hooks have added. */
  added: number
  /** The names of the properties to which hooks have given values. */
  readonly chosen: Set<string>
}

/**
 * The hooks of the host, which add to writes or refuse them (CONTRACT.md §9, "Before a write"). `Call` is the
 * request that writes.
 */
export interface Hooks<Call> {
  /** Whether writes in a collection are told to a hook. */
  has(collection: string): boolean
  /** The same of deletes, which may delete documents of other collections. */
  hasBelow(collection: string): boolean
  /** Asks the hook of a collection that has one. Throws `refused`, and what the hook throws. */
  ask(call: Call, write: PlannedWrite): Promise<SettledWrite>
  /**
   * Runs several writes that take effect together, or not at all. Each sees the ones before it. `operations`:
   * how many of them the client has asked for.
   */
  together<T>(call: Call, run: (own: Call) => MaybePromise<T>, operations?: number): MaybePromise<T>
}

/** A request, as far as hooks are concerned. */
interface Hooked<Call> {
  readonly service: { readonly hooks?: Hooks<Call> }
  readonly shared?: Pick<Shared, 'added'> | undefined
}

/**
 * Runs a write to a collection: where it has a hook, together with what the hook adds to it. What is added may be
 * about what was written: `tell` then makes the result anew.
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

/** Asks the hook of a collection; `undefined` where there is none. Only inside of `whereHooked`. */
export function askHook<Call extends Hooked<Call>>(
  call: Call,
  write: PlannedWrite,
): Promise<SettledWrite> | undefined {
  const { hooks } = call.service
  return hooks?.has(write.collection.name) ? hooks.ask(call, write) : undefined
}
