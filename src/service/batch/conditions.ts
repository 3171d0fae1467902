import { and, type Filter, or } from '../../filter/filter.js'
import type { StoredDocument, WriteStep } from '../../storage.js'
import { requireFound } from '../write/find-cascade.js'
import { idsIn, type PendingWrites } from './pending-writes.js'
import { takeTurns } from './take-turns.js'

/** What a batch requires of all that it has read: it is as it was when the batch takes effect. */
export class Conditions {
  readonly #turnsIn: ReadonlySet<string>
  /** The versions of the documents, by collection and `_id`. */
  readonly #versions = new Map<string, Map<string, number>>()
  /** What requires that lists have no further documents, by what was asked first. */
  readonly #lists = new Map<string, WriteStep>()
  /** What was not there for who asked, by collection. */
  readonly #absences = new Map<string, readonly Filter[]>()

  /** In the collections of `turnsIn`, no other write adds to a list at the same time. */
  constructor(turnsIn: ReadonlySet<string>) {
    this.#turnsIn = turnsIn
  }

  /** Whether nothing was read. */
  get isEmpty(): boolean {
    return this.#versions.size + this.#lists.size + this.#absences.size === 0
  }

  /** The steps that require what was read unchanged. */
  steps(pending: PendingWrites): readonly WriteStep[] {
    const lists = [...this.#lists.values()]
    return [...requireFound(this.#versions), ...lists, ...takeTurns(lists, this.#turnsIn, pending)]
  }

  /** The steps that refuse what was not found, one for each collection. */
  get absences(): readonly WriteStep[] {
    return Array.from(this.#absences, ([name, filters]) => ({ in: name, refuse: or(filters) }))
  }

  /** The first version counts: if it has changed meanwhile, the batch is judged anew. */
  require(collection: string, { _id, _version }: StoredDocument): void {
    const versions = this.#versions.get(collection) ?? new Map<string, number>()
    this.#versions.set(collection, versions)
    if (!versions.has(_id)) versions.set(_id, _version)
  }

  /** Whether a filter asks for documents by their `_id`s alone, all of which are required as they were read. */
  areRequired(collection: string, filter: Filter): boolean {
    const versions = this.#versions.get(collection)
    const ids = filter.kind === 'and' ? filter.filters.map(idsIn).find(Boolean) : idsIn(filter)
    return ids?.every((id) => versions?.has(id)) ?? false
  }

  /** Requires that a list has no further documents: those that match all of the filters. */
  close(collection: string, asked: unknown, filters: readonly Filter[]): void {
    const key = JSON.stringify([collection, asked])
    if (!this.#lists.has(key)) this.#lists.set(key, { in: collection, refuse: and(filters) })
  }

  /** Requires that documents that were not there stay away. */
  miss(collection: string, ids: Iterable<string>, filter: Filter): void {
    this.#absences.set(collection, [...(this.#absences.get(collection) ?? []), filter])
    // What is not there makes a caller what it is, too.
    if (this.#turnsIn.has(collection)) this.close(collection, [...ids], [filter])
  }
}
