import { compareText } from '../../../json/compare-text.js'
import type {
  Change,
  ChangePage,
  ChangeQuery,
  LogPlan,
  StorageAdapter,
  StoredDocument,
} from '../../../storage.js'
import type { LogPlans } from '../../log/log-plans.js'
import { createNotifier } from '../../log/notifier.js'
import { isWhole, parsePosition, printPosition } from '../../log/position.js'
import { createHeldWarning } from '../../log/warn-of-held.js'

/** The effect of a step on a document in a logged collection. */
export interface Touched extends Pick<Change, 'in' | 'before' | 'after'> {
  readonly log: LogPlan
}

/** The log of an adapter. */
export interface ChangeLog {
  /** Records the changes of one write. */
  record(touched: readonly Touched[], by: string | null): void
  readonly changes: NonNullable<StorageAdapter['changes']>
}

/** `bytes`: the bytes of both documents. */
type LoggedChange = Omit<Change, 'position'> & { readonly bytes: number }

/** The most old changes dropped per new one: the log does not grow, and no write takes long. */
const DROPPED = 2

/** The array of changes is cut when it has this many dropped ones in front, and these are half of it. */
const CUT = 1024

/** Creates an empty log. `documentsOf` returns the documents of a collection. */
export function createChangeLog(
  plans: LogPlans,
  documentsOf: (collection: string) => readonly StoredDocument[],
): ChangeLog {
  let drawn: string | undefined
  /**
   * The next service in this process has another memory, and so another log. Drawn lazily, because some runtimes
   * allow no random numbers at load time.
   */
  const name = (): string => {
    drawn ??= crypto.randomUUID().slice(0, 8)
    return drawn
  }
  const notifier = createNotifier()
  let kept: (LoggedChange | undefined)[] = []
  /** The number of changes cut off before `kept`, and of dropped ones still in it. */
  let cut = 0
  let gone = 0
  let writes = 0
  /** The bytes of all kept changes. */
  let bytes = 0
  const warnOfHeld = createHeldWarning()
  const sizes = new WeakMap<StoredDocument, number>()
  /** The size of a document, counted once: it is the `after` of one change and the `before` of the next. */
  const sizeOf = (stored: StoredDocument | null, left: StoredDocument | null): number => {
    if (!stored) return 0
    const size = sizes.get(stored) ?? JSON.stringify(left).length
    sizes.set(stored, size)
    return size
  }

  const end = (): number => cut + kept.length
  const positionOf = (place: number, time: number): string => printPosition({ log: name(), place, time })

  /** The place of the first mark. */
  const findMark = (): number => {
    let first = Number.POSITIVE_INFINITY
    for (const [collection, property] of plans.marks)
      for (const { [property]: mark } of documentsOf(collection)) {
        const position = typeof mark === 'string' ? parsePosition(mark, isWhole) : undefined
        if (position?.log === name()) first = Math.min(first, position.place)
      }
    return first
  }
  const drop = (most: number): void => {
    const { unmarked, any } = plans.horizon(Date.now())
    let mark: number | undefined
    let isHeld = false
    for (let i = 0; ; i++) {
      const oldest = kept[gone]
      // Changes beyond the byte limit are all dropped: each was recorded once, so no write takes long.
      const isBeyond = bytes > plans.bytes() && gone < kept.length - 1
      if (!oldest || !(isBeyond || (i < most && oldest.time < unmarked))) break
      mark ??= findMark()
      isHeld = isBeyond && cut + gone >= mark && oldest.time >= any
      if (cut + gone >= mark && oldest.time >= any) break
      bytes -= oldest.bytes
      kept[gone] = undefined
      gone += 1
    }
    warnOfHeld(isHeld)
    if (gone < CUT || gone * 2 < kept.length) return
    kept = kept.slice(gone)
    cut += gone
    gone = 0
  }

  const read = (after: string | null, limit: number): ChangePage => {
    const from = after === null ? { log: name(), place: end() } : parsePosition(after, isWhole)
    const isKnown = from?.log === name() && from.place >= cut + gone && from.place <= end()
    const start = isKnown ? from.place : cut + gone
    const found = kept.slice(start - cut, start - cut + limit).flatMap((change) => change ?? [])
    const changes = found.map(({ bytes: _, ...change }, i) => ({
      ...change,
      position: positionOf(start + i + 1, change.time),
    }))
    const position = changes.at(-1)?.position ?? positionOf(start, Date.now())
    return { changes, position, more: start + changes.length < end(), gap: !isKnown }
  }

  return {
    record(touched, by) {
      const time = Date.now()
      const changes = touched.length === 1 ? touched : mergeTouched(touched)
      const write = ++writes
      for (const { in: collection, before: old, after: young, log } of changes) {
        const [before, after] = [leaveOut(old, log), leaveOut(young, log)]
        const size = sizeOf(old, before) + sizeOf(young, after)
        bytes += size
        const id = (old ?? young)?._id ?? ''
        kept.push({ in: collection, id, before, after, write, time, by, bytes: size })
      }
      drop(changes.length * DROPPED)
      notifier.notify()
    },
    changes: (after: string | null, query: ChangeQuery) =>
      notifier.readWhenNotified(
        async () => {
          drop(query.limit)
          return read(after, query.limit)
        },
        after === null ? { ...query, wait: 0 } : query,
      ),
  }
}

/** One change per document, in order; none for a document that was absent before and is absent now. */
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

/** A document without some properties; the same object if it has none of them. */
function leaveOut(document: StoredDocument | null, { omit }: LogPlan): StoredDocument | null {
  if (document === null || !omit.some((property) => Object.hasOwn(document, property))) return document
  const left = Object.entries(document).filter(([property]) => !omit.includes(property))
  return Object.freeze(Object.fromEntries(left)) as StoredDocument
}
