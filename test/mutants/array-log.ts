import { everything } from '../../src/core/filter/filter.js'
import type {
  Change,
  CollectionPlan,
  StorageAdapter,
  StoredDocument,
  WriteStep,
} from '../../src/core/storage.js'
import { recordPlainly } from '../../src/tools/testing/adapter/cases/log/record-cases.js'
import type { PlainChange } from '../../src/tools/testing/adapter/check/plain-log.js'
import type { TestStorage } from '../../src/tools/testing/index.js'
import { createArrayAdapter } from './array-adapter.js'

/** A change in the log; `place`: how many lie before it. */
export type Entry = PlainChange & Pick<Change, 'write' | 'time'> & { readonly drawn: string }

/** What the log of an array adapter is made of; each part can be broken by itself. */
export interface LogParts {
  /** What is recorded of a write, of which `changes` should be; of one that was refused as well. */
  readonly record: (
    changes: readonly PlainChange[],
    steps: readonly WriteStep[],
    isOk: boolean,
  ) => readonly PlainChange[]
  readonly append: (log: readonly Entry[], changes: readonly Entry[]) => readonly Entry[]
  /** Where a reader goes on, who was at a place and was told of so many changes. */
  readonly goOn: (place: number, told: number, log: readonly Entry[]) => number
  /** The changes of a page, from those behind a place. */
  readonly page: (behind: readonly Entry[], limit: number) => readonly Entry[]
  /** How many of the first changes are gone. */
  readonly countGone: (log: readonly Entry[], mark: number, times: Horizon) => number
  readonly isGap: (place: number | undefined, gone: number) => boolean
  /** Whether what was drawn for a change tells it from another one at its place. */
  readonly isSame: (drawn: string, now: string) => boolean
  /** The number of a write, of which so many were before. */
  readonly number: (writes: number) => number
  /** Whether there may be more. */
  readonly isMore: (left: number) => boolean
}

/** The times before which a change goes: if no mark lies before it, and in any case. */
interface Horizon {
  readonly unmarked: number
  readonly any: number
  /** The bytes beyond which the first ones go. */
  readonly bytes: number
}

/** The bytes of the documents of changes. */
const sizeOf = (changes: readonly PlainChange[]): number =>
  changes.reduce((sum, { before, after }) => sum + textOf(before).length + textOf(after).length, 0)

const textOf = (document: StoredDocument | null): string => (document ? JSON.stringify(document) : '')

export const soundLog: LogParts = {
  record: (changes, _, isOk) => (isOk ? changes : []),
  append: (log, changes) => [...log, ...changes],
  goOn: (place, told) => place + told,
  page: (behind, limit) => behind.slice(0, limit),
  countGone(log, mark, { unmarked, any, bytes }) {
    const isBeyond = (i: number): boolean => i < log.length - 1 && sizeOf(log.slice(i)) > bytes
    const first = log.findIndex(
      ({ time }, i) => (time >= unmarked && !isBeyond(i)) || (i >= mark && time >= any),
    )
    return first < 0 ? log.length : first
  },
  isGap: (place, gone) => place === undefined || place < gone,
  isSame: (drawn, now) => drawn === now,
  number: (writes) => writes,
  isMore: (left) => left > 0,
}

/** An array adapter with a log, some of whose parts are replaced, and with backups. */
export function createLoggedAdapter(
  broken: Partial<LogParts> = {},
): StorageAdapter & Required<Pick<TestStorage, 'backUp'>> {
  const parts = { ...soundLog, ...broken }
  const inner = createArrayAdapter()
  const store = new Map<string, Map<string, StoredDocument>>()
  let plans: readonly CollectionPlan[] = []
  let log: readonly Entry[] = []
  let gone = 0
  let writes = 0

  const keepOf = (member: 'keep' | 'keepMarked'): number =>
    Math.max(0, ...plans.map((plan) => plan.log?.[member] ?? plan.log?.keep ?? 0))
  const findMark = (): number => {
    const marks = plans.flatMap(({ name, mark }) =>
      mark === undefined
        ? []
        : [...(store.get(name)?.values() ?? [])].map(({ [mark]: place }) => readPlace(place)),
    )
    return Math.min(Number.POSITIVE_INFINITY, ...marks.flatMap((place) => place ?? []))
  }
  const drop = (): void => {
    const now = Date.now()
    const bytes = Math.max(
      ...plans.flatMap(({ log }) => (log ? (log.bytes ?? Number.POSITIVE_INFINITY) : [])),
    )
    const times = { unmarked: now - keepOf('keep'), any: now - keepOf('keepMarked'), bytes }
    gone = Math.max(gone, parts.countGone(log, findMark(), times))
  }
  const look = (after: string | null, limit: number) => {
    drop()
    const drawnAt = (place: number): string => (place > gone ? (log[place - 1]?.drawn ?? '') : '')
    const printPlace = (place: number): string => `place ${place} ${drawnAt(place)}`
    const given = after === null ? log.length : readPlace(after)
    const isThere =
      given !== undefined &&
      given <= log.length &&
      (after === null || given <= gone || parts.isSame(after.split(' ')[2] ?? '', drawnAt(given)))
    const gap = parts.isGap(isThere ? given : undefined, gone)
    const start = gap ? gone : (given ?? gone)
    const found = after === null ? [] : parts.page(log.slice(start), limit)
    const end = parts.goOn(start, found.length, log)
    const changes = found.map(
      ({ drawn, ...entry }, i): Change => ({
        ...entry,
        position: printPlace(i === found.length - 1 ? end : start + i + 1),
      }),
    )
    return { changes, position: printPlace(end), more: parts.isMore(log.length - end) && after !== null, gap }
  }

  return {
    ...inner,
    async open(opened) {
      plans = [...plans.filter(({ name }) => !opened.some((plan) => plan.name === name)), ...opened]
      for (const { name } of opened) if (!store.has(name)) store.set(name, new Map())
      await inner.open(opened)
    },
    async write(steps, options) {
      const result = await inner.write(steps, options)
      const copies = structuredClone(steps)
      const changes = (result.ok ? recordPlainly(store, copies, plans, options.by) : undefined) ?? []
      const recorded = parts.record(changes, copies, result.ok)
      const write = parts.number(writes++)
      log = parts.append(
        log,
        recorded.map((change) => ({
          ...change,
          write,
          time: Date.now(),
          ...(options.isMigration ? { isMigration: true as const } : {}),
          drawn: crypto.randomUUID(),
        })),
      )
      return result
    },
    async changes(after, { limit, wait = 0, signal }) {
      for (const end = Date.now() + (after === null ? 0 : wait); ; ) {
        signal?.throwIfAborted()
        const page = look(after, limit)
        if (page.changes.length > 0 || page.gap || Date.now() >= end) return structuredClone(page)
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
    },
    async backUp() {
      const copy = structuredClone({ store, log, gone, writes })
      return async () => {
        for (const [name, documents] of copy.store) {
          store.set(name, documents)
          const inserts = [...documents.values()].map((insert) => ({ in: name, insert }))
          await inner.write([{ in: name, remove: everything }, ...inserts], {})
        }
        ;({ log, gone, writes } = copy)
      }
    },
  }
}

const readPlace = (text: unknown): number | undefined => {
  const [, place] = /^place (\d+) [\w-]*$/.exec(String(text)) ?? []
  return place === undefined ? undefined : Number(place)
}
