import { type Filter, ID, isOn, not } from '../filter/filter.js'
import { compileFilter, type Predicate } from '../filter/matches.js'
import type { Agreement, Attempt, DocumentName, Leaving } from '../request/store/attempt.js'
import { documentOf, idOf } from '../request/store.js'
import type { StoredDocument, WriteStep } from '../storage.js'
import type { MaybePromise } from '../types.js'

/** The parts of an attempt that are needed until the batch is committed. */
type PendingAttempt = Pick<
  Attempt<unknown>,
  'steps' | 'agreements' | 'deferred' | 'leave' | 'refuse' | 'after'
>

/** A pending write, and the operation that made it. */
export interface PendingWrite {
  readonly attempt: PendingAttempt
  readonly operation: number
  /** Its index among all pending writes. */
  readonly place: number
}

/** A document that pending writes have written or removed. */
export interface Written {
  /** The document after these writes; `null` if it was removed. */
  document: StoredDocument | null
  /** The first step on it. It determines which version the storage must have. */
  readonly first: WriteStep
  /**
   * The last write of it that an operation asked for. A write that only removes references to deleted documents from it
   * does not count.
   */
  write: PendingWrite
}

const UNASKED: PendingWrite = { attempt: { steps: [] }, operation: -1, place: -1 }

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
  /** The written documents by `_id`. */
  readonly documents: Map<string, Written>
  /** Removals by a filter that names no `_id`, so the removed documents are unknown. */
  readonly removed: Removed[]
  /** The last operation that wrote in the collection. */
  operation: number
}

/** The writes of a batch before they are committed, and the resulting state of the storage. */
export class PendingWrites {
  readonly #writes: PendingWrite[] = []
  readonly #collections = new Map<string, Changes>()
  /** The conditions on documents that no earlier write had written. */
  #required: WriteStep[] = []
  #isDeferring = false

  get writes(): readonly PendingWrite[] {
    return this.#writes
  }

  /** The changes, by collection. */
  get collections(): ReadonlyMap<string, Pick<Changes, 'documents' | 'removed'>> {
    return this.#collections
  }

  /** The steps that require the documents on which the writes depend as they are stored. */
  get required(): readonly WriteStep[] {
    return this.#required
  }

  /** Whether a written document has a reference that its writer was not allowed to use at the time. */
  get isDeferring(): boolean {
    return this.#isDeferring
  }

  add(operation: number, attempt: PendingAttempt): void {
    const write: PendingWrite = { attempt, operation, place: this.#writes.length }
    this.#writes.push(write)
    if (attempt.deferred && attempt.deferred.length > 0) this.#isDeferring = true
    for (const step of attempt.steps) this.#apply(step, write)
  }

  /** Called when all writes have taken effect. */
  readonly after = (): void => {
    for (const { attempt } of this.#writes) attempt.after?.()
  }

  /**
   * The conditions that must be true after all writes: first those on references in written documents, then those on
   * documents that refer to a written document; both in the order of operations. If a later operation changes the
   * target of a reference, the condition on the target also covers this reference.
   */
  get agreements(): readonly PendingAgreement[] {
    const last = new Map<string, PendingAgreement>()
    for (const { operation, attempt } of this.#writes)
      for (const agreement of attempt.agreements ?? NO_AGREEMENTS) {
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
   * Whether a condition on referring documents can never be met, because pending writes contradict it. False if stored
   * documents contradict it as well.
   */
  async contradicts({ step }: Leaving, stored: FindStored): Promise<boolean> {
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
    const firsts = [...this.#collections.values()].flatMap(({ documents }) =>
      Array.from(documents.values(), ({ first }) => first),
    )
    for (const step of [...this.#required, ...firsts]) {
      const [document, id] = [documentOf(step), idOf(step)]
      if (document === undefined || id === undefined) continue
      if (!('insert' in step ? isAbsent(step.in, id) : 'replace' in step || 'require' in step)) continue
      const expected = 'version' in step ? step.version : undefined
      if ((await stored(step.in, id))?._version !== expected) return document
    }
    return undefined
  }

  /** Removes the writes of an operation and of all later operations. */
  rewind(operation: number): void {
    const kept = this.#writes.filter((write) => write.operation < operation)
    this.#writes.length = 0
    this.#required = []
    this.#isDeferring = false
    this.#collections.clear()
    for (const write of kept) this.add(write.operation, write.attempt)
  }

  /** Returns the pending state of a document: `null` if it was removed, `undefined` if it was not written. */
  find(collection: string, id: string): StoredDocument | null | undefined {
    return this.lastOf(collection, id)?.document
  }

  /** Returns the pending state of a document with its last write; `undefined` if it was not written. */
  lastOf(collection: string, id: string): Written | undefined {
    return this.#collections.get(collection)?.documents.get(id)
  }

  /** Whether a document exists after the pending writes, as far as these know. */
  readonly isStanding = ({ collection, id }: DocumentName): boolean => !!this.find(collection, id)

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
    return Array.from(documents.values(), ({ document }) => document).filter((document) => document !== null)
  }

  #apply(step: WriteStep, write: PendingWrite): void {
    if ('require' in step) {
      if (!this.lastOf(step.in, step.require)) this.#required.push(step)
      return
    }
    if ('refuse' in step) {
      const ids = idsWithin(step.refuse)
      if (!ids?.some((id) => this.lastOf(step.in, id))) this.#required.push(step)
      return
    }
    const changes: Changes = this.#collections.get(step.in) ?? {
      ...NO_CHANGES,
      documents: new Map(),
      removed: [],
    }
    this.#collections.set(step.in, changes)
    changes.operation = write.operation
    const { documents } = changes
    if (!('remove' in step)) {
      const document = 'insert' in step ? step.insert : step.replace
      const last = documents.get(document._id)
      const isAsked = write.attempt.leave === undefined
      if (!last) documents.set(document._id, { document, first: step, write: isAsked ? write : UNASKED })
      else {
        last.document = document
        if (isAsked) last.write = write
      }
      return
    }
    const ids = idsWithin(step.remove)
    const matches = compileFilter(step.remove)
    for (const last of documents.values())
      if (last.document && matches(last.document)) {
        last.document = null
        last.write = write
      }
    // Documents with these ids count as removed without evaluating the filter. If one of them has changed since it
    // was read, the batch is evaluated again.
    if (ids) {
      for (const id of ids) if (!documents.has(id)) documents.set(id, { document: null, first: step, write })
    } else changes.removed.push({ filter: step.remove, matches })
  }

  #of(collection: string): Changes {
    return this.#collections.get(collection) ?? NO_CHANGES
  }
}

const NO_AGREEMENTS: readonly Agreement[] = []

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
