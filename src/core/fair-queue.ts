/**
 * Identifies the caller of some work to a queue: a string, or a function that returns the string. The function is
 * called only when a queue needs the string.
 */
export type QueueCaller = string | (() => string | undefined)

/** Returns the string of a caller. */
export const textOf = (caller: QueueCaller | undefined): string | undefined =>
  typeof caller === 'function' ? caller() : caller

/** An entry, and its number in the order of arrival. */
interface QueueEntry<T> {
  readonly entry: T
  readonly order: number
}

/**
 * A queue that serves callers in turn, and the entries of each caller in order of arrival. So a caller with many
 * entries delays any other caller by only one entry at a time. A caller is any string. All entries without a caller
 * count as entries of one caller. The lists are arrays, because entries that were removed from a long-lived `Set` may
 * stay in memory until the next full garbage collection.
 */
export class FairQueue<T> {
  readonly #capacity: number
  /** The entries of each caller. The first caller is served next. No list is empty. */
  readonly #lists = new Map<string, QueueEntry<T>[]>()
  /** The caller that was served last. It comes after all other callers. */
  #last: string | undefined
  #length = 0
  #entered = 0

  /** `capacity` is the maximum number of entries. Default: no limit. */
  constructor(capacity = Number.POSITIVE_INFINITY) {
    this.#capacity = capacity
  }

  get length(): number {
    return this.#length
  }

  /** Whether the queue would reject an entry of a caller that has none yet. */
  get isClosedToNewCallers(): boolean {
    return this.#length >= this.#capacity && this.#lists.size === this.#length
  }

  /**
   * Adds an entry. If it has several callers, it is added for the caller with the fewest entries. If the queue then
   * exceeds its capacity, removes and returns the last entry of the caller with the most entries, which may be the new
   * entry. Among callers with equally many entries, the most recently added entry is removed.
   */
  add(entry: T, ...callers: readonly (string | undefined)[]): T | undefined {
    const caller = this.#leastBusy(callers)
    const list = this.#lists.get(caller) ?? []
    this.#lists.set(caller, list)
    this.#entered += 1
    list.push({ entry, order: this.#entered })
    this.#length += 1
    return this.#length > this.#capacity ? this.#evict() : undefined
  }

  /** Records that a caller was served without waiting in the queue. It then comes after all other callers. */
  pass(caller = ''): void {
    this.#last = caller
  }

  /** Returns the entry that is served next, without removing it. */
  peek(): T | undefined {
    for (const [caller, [first]] of this.#lists) if (caller !== this.#last) return first?.entry
    return this.#lists.get(this.#last ?? '')?.[0]?.entry
  }

  /** Removes and returns the next entry for which `mayGo` returns true. Default: any entry may go. */
  take(mayGo: (entry: T) => boolean = all): T | undefined {
    const last = this.#last
    for (const [caller, list] of this.#lists) {
      const taken = caller === last ? undefined : this.#takeOf(caller, list, mayGo)
      if (taken) return taken.entry
    }
    const list = last === undefined ? undefined : this.#lists.get(last)
    return last === undefined || !list ? undefined : this.#takeOf(last, list, mayGo)?.entry
  }

  /** Removes an entry. Returns whether it was in the queue. */
  delete(entry: T): boolean {
    for (const [caller, list] of this.#lists) {
      const at = list.findIndex((place) => place.entry === entry)
      if (at < 0) continue
      this.#remove(caller, list, at)
      return true
    }
    return false
  }

  /** Iterates over all entries, grouped by caller. */
  *[Symbol.iterator](): Generator<T, void, undefined> {
    for (const list of [...this.#lists.values()]) for (const { entry } of [...list]) yield entry
  }

  #takeOf(caller: string, list: QueueEntry<T>[], mayGo: (entry: T) => boolean): QueueEntry<T> | undefined {
    const at = list.findIndex(({ entry }) => mayGo(entry))
    if (at < 0) return undefined
    this.#lists.delete(caller)
    const [taken] = this.#remove(caller, list, at)
    if (list.length > 0) this.#lists.set(caller, list)
    this.#last = caller
    return taken
  }

  #leastBusy(callers: readonly (string | undefined)[]): string {
    const [first = '', ...others] = callers
    const countOf = (caller: string): number => this.#lists.get(caller)?.length ?? 0
    return others.reduce<string>(
      (least, other = '') => (countOf(other) < countOf(least) ? other : least),
      first,
    )
  }

  #evict(): T | undefined {
    let most: readonly [caller: string, list: QueueEntry<T>[]] | undefined
    const isMore = (list: QueueEntry<T>[], than: QueueEntry<T>[]): boolean =>
      list.length === than.length
        ? (list.at(-1)?.order ?? 0) > (than.at(-1)?.order ?? 0)
        : list.length > than.length
    for (const [caller, list] of this.#lists) if (!most || isMore(list, most[1])) most = [caller, list]
    return most && this.#remove(...most, most[1].length - 1)[0]?.entry
  }

  #remove(caller: string, list: QueueEntry<T>[], at: number): readonly QueueEntry<T>[] {
    const removed = list.splice(at, 1)
    this.#length -= removed.length
    if (list.length === 0) this.#lists.delete(caller)
    return removed
  }
}

const all = (): boolean => true
