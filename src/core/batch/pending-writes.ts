import { type Filter, ID, isOn, not } from '../filter/filter.js'
import { compileFilter, type Predicate } from '../filter/matches.js'
import type { Agreement, Attempt } from '../request/store/attempt.js'
import { documentOf, idOf } from '../request/store.js'
import type { StoredDocument, WriteStep } from '../storage.js'
import type { MaybePromise } from '../types.js'

/** The parts of an attempt that are needed until the batch is committed. */
interface PendingAttempt extends Pick<Attempt<unknown>, 'steps'> {
  readonly agreements?: Attempt<unknown>['agreements'] | undefined
  readonly refuse?: Attempt<unknown>['refuse'] | undefined
  readonly after?: Attempt<unknown>['after']
}

/** A pending write, and the operation that made it. */
interface PendingWrite extends PendingAttempt {
  readonly operation: number
  /** The index of its first step among the steps of all pending writes. */
  readonly start: number
}

/** A condition that must be true after all writes, and the operation that introduced it. */
export interface PendingAgreement extends Agreement {
  readonly operation: number
}

/** Finds a document as it is stored, without the pending writes. */
export type FindStored = (collection: string, id: string) => MaybePromise<StoredDocument | undefined>

interface Removed {
  readonly filter: Filter
  readonly matches: Predicate
}

/** The changes of the pending writes to one collection. */
interface Changes {
  /** The written documents by `_id`; `null` for a removed document. */
  readonly documents: Map<string, StoredDocument | null>
  /** Removals by a filter that names no `_id`, so the removed documents are unknown. */
  readonly removed: Removed[]
  /** The last operation that wrote in the collection. */
  operation: number
}

/** The writes of a batch before they are committed, and the resulting state of the storage. */
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

  /** Called when all writes have taken effect. */
  readonly after = (): void => {
    for (const { after } of this.#writes) after?.()
  }

  /**
   * The conditions that must be true after all writes: first those on references in written documents, then those on
   * documents that refer to a written document; both in the order of operations. If a later operation changes the
   * target of a reference, the condition on the target also covers this reference.
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
   * Whether the step at index `place` can never succeed, because other pending steps contradict it. False if stored
   * documents contradict it as well.
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
   * Finds a document that a concurrent write has changed: its stored version is not the version that the first step on
   * the document expects, or it exists although it was read as absent (`isAbsent`). Returns the document's name in the
   * form of `documentOf`. The write, which relied on an older state, is then evaluated again.
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

  /** Whether earlier steps remove the document that a step requires. `place` is the index of the step. */
  #isRemovedBefore(place: number, step: Extract<WriteStep, { readonly require: string }>): boolean {
    const before = new PendingWrites()
    for (const earlier of this.#steps.slice(0, place)) before.#apply(earlier, 0)
    return before.find(step.in, step.require) === null
  }

  /** Returns the write that contains the step with this index. */
  writeOf(step: number): PendingWrite | undefined {
    return this.#writes.find(({ start, steps }) => step >= start && step < start + steps.length)
  }

  /** Removes the writes of an operation and of all later operations. */
  rewind(operation: number): void {
    const kept = this.#writes.filter((write) => write.operation < operation)
    this.#writes.length = 0
    this.#steps = []
    this.#collections.clear()
    for (const write of kept) this.add(write.operation, write)
  }

  /** Returns the pending state of a document: `null` if it was removed, `undefined` if it was not written. */
  find(collection: string, id: string): StoredDocument | null | undefined {
    return this.#collections.get(collection)?.documents.get(id)
  }

  /** Whether a pending removal by filter removes a stored document. */
  isRemoved(collection: string, document: StoredDocument): boolean {
    return this.#collections.get(collection)?.removed.some(({ matches }) => matches(document)) ?? false
  }

  /** Returns a map whose keys are the ids of the documents that were written or removed. */
  touched(collection: string): ReadonlyMap<string, unknown> {
    return this.#of(collection).documents
  }

  /** Returns filters that a stored document matches if no pending removal by filter removes it. */
  untouched(collection: string): readonly Filter[] {
    return this.#of(collection).removed.map(({ filter }) => not(filter))
  }

  /** Whether any document of a collection was written or removed. */
  hasTouched(collection: string): boolean {
    const { documents, removed } = this.#of(collection)
    return documents.size > 0 || removed.length > 0
  }

  /** Returns the last operation that wrote in a collection; -1 if none did. */
  lastIn(collection: string): number {
    return this.#of(collection).operation
  }

  /** Returns the documents that were written and not removed. */
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
      const ids = idsWithin(step.remove)
      const matches = compileFilter(step.remove)
      for (const [id, document] of changes.documents)
        if (document && matches(document)) changes.documents.set(id, null)
      // Documents with these ids count as removed without evaluating the filter. If one of them has changed since it
      // was read, the batch is evaluated again.
      if (ids) for (const id of ids) changes.documents.set(id, changes.documents.get(id) ?? null)
      else changes.removed.push({ filter: step.remove, matches })
    }
  }

  #of(collection: string): Changes {
    return this.#collections.get(collection) ?? NO_CHANGES
  }
}

const NO_CHANGES: Changes = { documents: new Map(), removed: [], operation: -1 }

/** Returns the ids that a filter selects; `undefined` if the filter does not name them. */
export function idsIn(filter: Filter): readonly string[] | undefined {
  if (filter.kind === 'eq') return isOn(filter.field, ID) ? [String(filter.value)] : undefined
  if (filter.kind !== 'or') return undefined
  const ids = filter.filters.map(idsIn)
  return ids.every((some) => some !== undefined) ? [...new Set(ids.flat())] : undefined
}

/** Returns ids that include those of all matches of a filter; `undefined` if no part of the filter names them. */
export const idsWithin = (filter: Filter): readonly string[] | undefined =>
  filter.kind === 'and' ? filter.filters.map(idsIn).find(Boolean) : idsIn(filter)
