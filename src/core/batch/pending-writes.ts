import { type Filter, ID, not } from '../filter/filter.js'
import { isOn } from '../filter/index-order.js'
import { compileFilter, type Predicate } from '../filter/matches.js'
import type { Agreement, Attempt } from '../request/store/attempt.js'
import { documentOf, idOf } from '../request/store.js'
import type { StoredDocument, WriteStep } from '../storage.js'
import type { MaybePromise } from '../types.js'

/** The parts of an attempt that stay pending. */
interface PendingAttempt extends Pick<Attempt<unknown>, 'steps'> {
  readonly agreements?: Attempt<unknown>['agreements'] | undefined
  readonly refuse?: Attempt<unknown>['refuse'] | undefined
  readonly after?: Attempt<unknown>['after']
}

/** A pending write, and the operation that made it. */
interface PendingWrite extends PendingAttempt {
  readonly operation: number
  /** The number of steps before its first one. */
  readonly start: number
}

/** An agreement that must hold at the end, and the operation that introduced it. */
export interface PendingAgreement extends Agreement {
  readonly operation: number
}

/** Finds a document as stored, before all pending writes. */
export type FindStored = (collection: string, id: string) => MaybePromise<StoredDocument | undefined>

interface Removed {
  readonly filter: Filter
  readonly matches: Predicate
}

/** The changes of the pending writes to one collection. */
interface Changes {
  /** By `_id`: the written document, `null` if it was removed. */
  readonly documents: Map<string, StoredDocument | null>
  /** Removals by filter, of documents that were not read. */
  readonly removed: Removed[]
  /** The last operation that wrote in the collection. */
  operation: number
}

/** The writes of a batch before they take effect, and the state of the storage after them. */
export class PendingWrites {
  readonly #writes: PendingWrite[] = []
  #steps: WriteStep[] = []
  readonly #collections = new Map<string, Changes>()

  get steps(): readonly WriteStep[] {
    return this.#steps
  }

  add(operation: number, { steps, agreements, refuse, after }: PendingAttempt): void {
    this.#writes.push({ operation, start: this.#steps.length, steps, agreements, refuse, after })
    for (const step of steps) {
      this.#steps.push(step)
      this.#apply(step, operation)
    }
  }

  /** Called once they have taken effect. */
  readonly after = (): void => {
    for (const { after } of this.#writes) after?.()
  }

  /**
   * The agreements that must hold after all writes: first between the written documents and those that they refer to,
   * then of those that refer to them, each in the order of operations. A reference whose target changes later is one of
   * those that refer to it.
   */
  get agreements(): readonly PendingAgreement[] {
    const last = new Map<string, PendingAgreement>()
    for (const { operation, agreements = [] } of this.#writes)
      for (const agreement of agreements) {
        last.delete(agreement.key)
        last.set(agreement.key, { ...agreement, operation })
      }
    const standing = [...last.values()].filter(
      ({ in: collection, id, step }) => step && this.find(collection, id) !== null,
    )
    const places = new Map(standing.map(({ key }, i) => [key, i]))
    const isImplied = ({ impliedBy = '' }: PendingAgreement, i: number): boolean =>
      (places.get(impliedBy) ?? -1) > i
    const judged = standing.filter((agreement, i) => !isImplied(agreement, i))
    const isOwn = ({ step }: PendingAgreement): boolean => step !== undefined && 'require' in step
    return [...judged.filter(isOwn), ...judged.filter((agreement) => !isOwn(agreement))]
  }

  /**
   * Whether a step can never succeed, because other pending steps contradict it; false if stored documents conflict
   * with it, too.
   */
  async breaks(place: number, stored: FindStored): Promise<boolean> {
    const step = this.#steps[place]
    if (!step) return false
    if (!('refuse' in step)) return 'require' in step && this.#isRemovedBefore(place, step)
    const matches = compileFilter(step.refuse)
    const written = this.written(step.in).filter(matches)
    for (const { _id } of written) {
      const before = await stored(step.in, _id)
      if (before && matches(before)) return false
    }
    return written.length > 0
  }

  /**
   * Finds a document, as `documentOf` names it, whose version is not the one that the first step on it expects, or that
   * exists though it was read as absent (`isAbsent`). The write was evaluated on another state of the document, so it
   * is evaluated again.
   */
  async findOvertaken(
    stored: FindStored,
    isAbsent: (collection: string, id: string) => boolean,
  ): Promise<string | undefined> {
    const seen = new Set<string>()
    for (const step of this.#steps) {
      const [document, id] = [documentOf(step), idOf(step)]
      if (document === undefined || id === undefined || seen.has(document)) continue
      seen.add(document)
      if (!('insert' in step ? isAbsent(step.in, id) : 'replace' in step || 'require' in step)) continue
      const expected = 'version' in step ? step.version : undefined
      if ((await stored(step.in, id))?._version !== expected) return document
    }
    return undefined
  }

  /** Whether the steps before an index remove the document that the step there requires. */
  #isRemovedBefore(place: number, step: Extract<WriteStep, { readonly require: string }>): boolean {
    const before = new PendingWrites()
    for (const earlier of this.#steps.slice(0, place)) before.#apply(earlier, 0)
    return before.find(step.in, step.require) === null
  }

  /** The write that a step belongs to. */
  writeOf(step: number): PendingWrite | undefined {
    return this.#writes.find(({ start, steps }) => step >= start && step < start + steps.length)
  }

  /** Takes back the writes of an operation and of those after it. */
  rewind(operation: number): void {
    const kept = this.#writes.filter((write) => write.operation < operation)
    this.#writes.length = 0
    this.#steps = []
    this.#collections.clear()
    for (const write of kept) this.add(write.operation, write)
  }

  /** The pending document of an `_id`: `null` if it was removed, `undefined` if only the storage knows it. */
  find(collection: string, id: string): StoredDocument | null | undefined {
    return this.#collections.get(collection)?.documents.get(id)
  }

  /** Whether a stored document was removed by a filter. */
  isRemoved(collection: string, document: StoredDocument): boolean {
    return this.#collections.get(collection)?.removed.some(({ matches }) => matches(document)) ?? false
  }

  /** The ids of the documents that were written or removed. */
  touched(collection: string): ReadonlyMap<string, unknown> {
    return this.#of(collection).documents
  }

  /** The filters that a stored document must match if no removal has taken it. */
  untouched(collection: string): readonly Filter[] {
    return this.#of(collection).removed.map(({ filter }) => not(filter))
  }

  /** Whether anything in a collection was written or removed. */
  hasTouched(collection: string): boolean {
    const { documents, removed } = this.#of(collection)
    return documents.size > 0 || removed.length > 0
  }

  /** The last operation that has written in a collection; -1 for none. */
  lastIn(collection: string): number {
    return this.#of(collection).operation
  }

  /** The documents that were written and not removed. */
  written(collection: string): readonly StoredDocument[] {
    const { documents } = this.#of(collection)
    return [...documents.values()].filter((document) => document !== null)
  }

  #apply(step: WriteStep, operation: number): void {
    // `require` and `refuse` steps change nothing.
    if ('require' in step || 'refuse' in step) return
    const changes: Changes = this.#collections.get(step.in) ?? {
      ...NO_CHANGES,
      documents: new Map(),
      removed: [],
    }
    this.#collections.set(step.in, changes)
    changes.operation = operation
    if ('insert' in step) changes.documents.set(step.insert._id, step.insert)
    else if ('replace' in step) changes.documents.set(step.replace._id, step.replace)
    else {
      const ids =
        step.remove.kind === 'and' ? step.remove.filters.map(idsIn).find(Boolean) : idsIn(step.remove)
      const matches = compileFilter(step.remove)
      for (const [id, document] of changes.documents)
        if (document && matches(document)) changes.documents.set(id, null)
      // If one of them has changed since it was read, the batch is evaluated again.
      if (ids) for (const id of ids) changes.documents.set(id, changes.documents.get(id) ?? null)
      else changes.removed.push({ filter: step.remove, matches })
    }
  }

  #of(collection: string): Changes {
    return this.#collections.get(collection) ?? NO_CHANGES
  }
}

const NO_CHANGES: Changes = { documents: new Map(), removed: [], operation: -1 }

/** The ids that the matches of a filter can have, if it names them. */
export function idsIn(filter: Filter): readonly string[] | undefined {
  if (filter.kind === 'eq') return isOn(filter.field, ID) ? [String(filter.value)] : undefined
  if (filter.kind !== 'or') return undefined
  const ids = filter.filters.map(idsIn)
  return ids.every((some) => some !== undefined) ? [...new Set(ids.flat())] : undefined
}
