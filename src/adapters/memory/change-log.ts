import { compareText } from '../../core/json/compare-text.js'
import type {
  Change,
  ChangePage,
  ChangeQuery,
  LogPlan,
  StoredDocument,
  WriteOptions,
} from '../../core/storage.js'
import type { LogPlans } from '../log/log-plans.js'
import { createNotifier } from '../log/notifier.js'
import { isWhole, parsePosition, printPosition } from '../log/position.js'
import { createHeldWarning } from '../log/warn-of-held.js'

/** The effect of a write step on a document of a collection whose changes are logged. */
export interface Touched extends Pick<Change, 'in' | 'before' | 'after'> {
  readonly log: LogPlan
}

/** A change in the log. `bytes` is the size of both documents, `before` and `after`, as JSON. */
type LoggedChange = Omit<Change, 'position'> & { readonly bytes: number }

/**
 * The maximum number of old changes that are dropped for each new change: more than one, so that the log does not grow,
 * but few, so that no write takes long.
 */
const DROPPED = 2

/**
 * Once the array of changes begins with this many dropped changes, and they are at least half of it, they are cut off.
 */
const CUT = 1024

/** The properties of a change that a run of `migrate` made, and of any other. */
const MIGRATION = { isMigration: true } as const
const NONE = {}

/** The change log of an adapter. */
export class ChangeLog {
  readonly #plans: LogPlans
  readonly #documentsOf: (collection: string) => readonly StoredDocument[]
  readonly #notifier = createNotifier()
  readonly #warnOfHeld = createHeldWarning()
  readonly #sizes = new WeakMap<StoredDocument, number>()
  #name: string | undefined
  #kept: (LoggedChange | undefined)[] = []
  /** The number of changes removed from `#kept`. */
  #cut = 0
  /** The number of dropped changes at the start of `#kept`. */
  #gone = 0
  #writes = 0
  /** The total size of all changes in `#kept`. */
  #bytes = 0

  /** Creates an empty log. `documentsOf` returns the current documents of a collection. */
  constructor(plans: LogPlans, documentsOf: (collection: string) => readonly StoredDocument[]) {
    this.#plans = plans
    this.#documentsOf = documentsOf
  }

  /** Records the changes of one write. */
  record(touched: readonly Touched[], { by = null, isMigration }: WriteOptions): void {
    const time = Date.now()
    const changes = touched.length === 1 ? touched : mergeTouched(touched)
    const write = ++this.#writes
    for (const { in: collection, before: old, after: young, log } of changes) {
      const [before, after] = [leaveOut(old, log), leaveOut(young, log)]
      const bytes = this.#sizeOf(old, before) + this.#sizeOf(young, after)
      this.#bytes += bytes
      const id = (old ?? young)?._id ?? ''
      const mark = isMigration ? MIGRATION : NONE
      this.#kept.push({ in: collection, id, before, after, write, time, by, bytes, ...mark })
    }
    this.#drop(changes.length * DROPPED)
    this.#notifier.notify()
  }

  /** Reads a page of the log (see `StorageAdapter.changes`). */
  changes(after: string | null, query: ChangeQuery): Promise<ChangePage> {
    const read = async (): Promise<ChangePage> => {
      this.#drop(query.limit)
      return this.#read(after, query.limit)
    }
    return this.#notifier.readWhenNotified(read, after === null ? { ...query, wait: 0 } : query)
  }

  /**
   * Returns the name of this log. The name is random, because the next process has another log, and it is generated on
   * first use, because some runtimes allow no random numbers while a module loads.
   */
  #log(): string {
    this.#name ??= crypto.randomUUID().slice(0, 8)
    return this.#name
  }

  /**
   * Returns the size of a document as JSON. The size is cached, because a document is the `after` of one change and the
   * `before` of the next.
   */
  #sizeOf(stored: StoredDocument | null, left: StoredDocument | null): number {
    if (!stored) return 0
    const size = this.#sizes.get(stored) ?? JSON.stringify(left).length
    this.#sizes.set(stored, size)
    return size
  }

  #findMark(): number {
    const compare = (a: number, b: number): number => a - b
    return this.#plans.findMark(this.#log(), this.#documentsOf, isWhole, compare) ?? Number.POSITIVE_INFINITY
  }

  /** Drops the oldest changes, at most `most`, if they are old enough or beyond the byte limit. */
  #drop(most: number): void {
    const { unmarked, any } = this.#plans.horizon(Date.now())
    const kept = this.#kept
    let mark: number | undefined
    let isHeld = false
    for (let i = 0; ; i++) {
      const oldest = kept[this.#gone]
      // Changes beyond the byte limit are dropped even if there are more than `most`. On average each new change causes
      // one such drop, so no write takes long.
      const isBeyond = this.#bytes > this.#plans.bytes() && this.#gone < kept.length - 1
      if (!oldest || !(isBeyond || (i < most && oldest.time < unmarked))) break
      mark ??= this.#findMark()
      const isMarked = this.#cut + this.#gone >= mark && oldest.time >= any
      isHeld = isBeyond && isMarked
      if (isMarked) break
      this.#bytes -= oldest.bytes
      kept[this.#gone] = undefined
      this.#gone += 1
    }
    this.#warnOfHeld(isHeld)
    if (this.#gone < CUT || this.#gone * 2 < kept.length) return
    this.#kept = kept.slice(this.#gone)
    this.#cut += this.#gone
    this.#gone = 0
  }

  #read(after: string | null, limit: number): ChangePage {
    const log = this.#log()
    const first = this.#cut + this.#gone
    const end = this.#cut + this.#kept.length
    const from = after === null ? { log, place: end } : parsePosition(after, isWhole)
    const isKnown = from?.log === log && from.place >= first && from.place <= end
    const start = isKnown ? from.place : first
    const found = this.#kept.slice(start - this.#cut, start - this.#cut + limit)
    const changes = found
      .flatMap((change) => change ?? [])
      .map(({ bytes: _, ...change }, i) => ({
        ...change,
        position: printPosition({ log, place: start + i + 1, time: change.time }),
      }))
    const position = changes.at(-1)?.position ?? printPosition({ log, place: start, time: Date.now() })
    return { changes, position, more: start + changes.length < end, gap: !isKnown }
  }
}

/**
 * Merges the changes to the same document into one change, sorted by id. Omits a document that existed neither before
 * nor after the write.
 */
function mergeTouched(touched: readonly Touched[]): readonly Touched[] {
  const changes = new Map<string, Touched>()
  for (const one of touched) {
    const key = `${one.in} ${idOf(one)}`
    const first = changes.get(key)
    changes.set(key, first ? { ...one, before: first.before } : one)
  }
  return [...changes.values()]
    .filter(({ before, after }) => before !== null || after !== null)
    .sort((a, b) => compareText(idOf(a), idOf(b)) || compareText(a.in, b.in))
}

const idOf = ({ before, after }: Touched): string => (before ?? after)?._id ?? ''

/** Returns the document without the properties that the log omits, or the same object if it has none of them. */
function leaveOut(document: StoredDocument | null, { omit }: LogPlan): StoredDocument | null {
  if (document === null || !omit.some((property) => Object.hasOwn(document, property))) return document
  const left = Object.entries(document).filter(([property]) => !omit.includes(property))
  return Object.freeze(Object.fromEntries(left)) as StoredDocument
}
