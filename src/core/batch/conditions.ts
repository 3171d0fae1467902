import { and, type Filter, nothing, or } from '../filter/filter.js'
import { requireFound } from '../references/find-cascade.js'
import type { StoredDocument, WriteStep } from '../storage.js'
import { idsWithin, type PendingWrites } from './pending-writes.js'

/**
 * Returns the steps that make two batches run one after another if each lists documents that the other writes, in the
 * collections of `turnsIn`. Other conditions are not enough: a list may miss a document that a concurrent write
 * creates.
 */
function takeTurns(
  lists: readonly WriteStep[],
  turnsIn: ReadonlySet<string>,
  pending: Pick<PendingWrites, 'hasTouched'>,
): readonly WriteStep[] {
  const listed = new Set(lists.map((step) => step.in).filter((name) => turnsIn.has(name)))
  if (listed.size === 0) return []
  return [...turnsIn].flatMap((name): readonly WriteStep[] => {
    const turn = pending.hasTouched(name) ? 'alone' : 'shared'
    return turn === 'alone' || listed.has(name) ? [{ in: name, refuse: nothing, turn }] : []
  })
}

/** The conditions of a batch: everything that it has read must be unchanged when the batch takes effect. */
export class Conditions {
  readonly #turnsIn: ReadonlySet<string>
  /** The versions of the documents that were read, by collection and `_id`. */
  readonly #versions = new Map<string, Map<string, number>>()
  /** The steps that require that a list has no further documents, by collection and query of the list. */
  readonly #lists = new Map<string, WriteStep>()
  /** For each collection, filters for the documents that a reader did not find. */
  readonly #absences = new Map<string, readonly Filter[]>()

  /** `turnsIn`: the collections in which no concurrent write may add documents to a list. */
  constructor(turnsIn: ReadonlySet<string>) {
    this.#turnsIn = turnsIn
  }

  /** Whether nothing was read. */
  get isEmpty(): boolean {
    return this.#versions.size + this.#lists.size + this.#absences.size === 0
  }

  /** Returns the steps that require that everything that was read is unchanged, and that all absent documents still are. */
  steps(pending: PendingWrites): readonly WriteStep[] {
    const lists = [...this.#lists.values()]
    return [
      ...requireFound(this.#versions),
      ...lists,
      ...takeTurns(lists, this.#turnsIn, pending),
      ...Array.from(this.#absences, ([name, filters]) => ({ in: name, refuse: or(filters) })),
    ]
  }

  /**
   * Requires that a document still has the version that was read first. If it has another version, the batch is
   * evaluated again.
   */
  require(collection: string, { _id, _version }: StoredDocument): void {
    const versions = this.#versions.get(collection) ?? new Map<string, number>()
    this.#versions.set(collection, versions)
    if (!versions.has(_id)) versions.set(_id, _version)
  }

  /** Whether a document is already required in the version that was read first. */
  isRequired(collection: string, id: string): boolean {
    return this.#versions.get(collection)?.has(id) ?? false
  }

  /** Whether a filter selects documents only by `_id`, and all these documents are already required. */
  areRequired(collection: string, filter: Filter): boolean {
    const versions = this.#versions.get(collection)
    const ids = idsWithin(filter)
    return ids?.every((id) => versions?.has(id)) ?? false
  }

  /** Requires that a list has no further documents, which means that no document matches all `filters`. */
  close(collection: string, asked: unknown, filters: readonly Filter[]): void {
    const key = JSON.stringify([collection, asked])
    if (!this.#lists.has(key)) this.#lists.set(key, { in: collection, refuse: and(filters) })
  }

  /** Requires that absent documents remain absent. */
  miss(collection: string, ids: Iterable<string>, filter: Filter): void {
    this.#absences.set(collection, [...(this.#absences.get(collection) ?? []), filter])
    // A caller's claims also depend on documents that are absent.
    if (this.#turnsIn.has(collection)) this.close(collection, [...ids], [filter])
  }
}
