import { compareText } from '../../../../core/json/compare-text.js'
import type {
  Change,
  CollectionPlan,
  StorageAdapter,
  StoredDocument,
  WriteStep,
} from '../../../../core/storage.js'
import { check, checkSame } from './check.js'
import { applyPlainly, type Documents } from './plain-write.js'

/** A change without the number of its write, its position and its time. */
export type PlainChange = Omit<Change, 'write' | 'time' | 'position'>

/** The documents of several collections. */
export type PlainStore = ReadonlyMap<string, Documents>

/**
 * Applies the steps of a write by a caller to the documents, but only if all steps succeed. Returns the changes that
 * the log must contain, or `undefined` if a step is rejected.
 */
export function recordPlainly(
  store: PlainStore,
  steps: readonly WriteStep[],
  plans: readonly CollectionPlan[],
  by: string | null = null,
): readonly PlainChange[] | undefined {
  const left = new Map([...store].map(([name, documents]) => [name, new Map(documents)]))
  const written = new Map<string, PlainChange>()
  for (const step of steps) {
    const documents = left.get(step.in) ?? new Map<string, StoredDocument>()
    const before = new Map(documents)
    if (applyPlainly(documents, step)) return undefined
    for (const id of new Set([...before.keys(), ...documents.keys()])) {
      if (before.get(id) === documents.get(id)) continue
      const key = JSON.stringify([step.in, id])
      const first = written.get(key)?.before ?? store.get(step.in)?.get(id) ?? null
      written.set(key, { in: step.in, id, before: first, after: documents.get(id) ?? null, by })
    }
  }
  for (const [name, documents] of left) {
    store.get(name)?.clear()
    for (const [id, document] of documents) store.get(name)?.set(id, document)
  }
  const omitOf = new Map(plans.flatMap(({ name, log }) => (log ? [[name, log.omit]] : [])))
  return [...written.values()]
    .filter((change) => omitOf.has(change.in) && (change.before ?? change.after))
    .sort((a, b) => compareText(a.id, b.id) || compareText(a.in, b.in))
    .map(({ before, after, ...change }) => {
      const omit = omitOf.get(change.in) ?? []
      return { ...change, before: leaveOut(before, omit), after: leaveOut(after, omit) }
    })
}

const leaveOut = (document: StoredDocument | null, omit: readonly string[]): StoredDocument | null =>
  document && {
    ...Object.fromEntries(Object.entries(document).filter(([name]) => !omit.includes(name))),
    _id: document._id,
    _version: document._version,
  }

export type LoggingAdapter = StorageAdapter & Required<Pick<StorageAdapter, 'changes'>>

export const hasLog = (adapter: StorageAdapter): adapter is LoggingAdapter => adapter.changes !== undefined

/** Returns the position at the end of an adapter's log. */
export async function findEnd(adapter: LoggingAdapter): Promise<string> {
  const { changes, position, gap } = await adapter.changes(null, { limit: 1 })
  check(
    changes.length === 0 && !gap,
    'changes(null) returned changes or a gap, but must return only the position at the end of the log',
  )
  return position
}

/** Reads all changes after a position, page by page. */
export async function readLog(
  adapter: LoggingAdapter,
  after: string,
  limit = 100,
): Promise<{ readonly changes: readonly Change[]; readonly position: string }> {
  const changes: Change[] = []
  let position = after
  for (;;) {
    const page = await adapter.changes(position, { limit })
    check(!page.gap, `there is a gap after ${position}`)
    check(
      page.changes.length <= limit,
      `a page has ${page.changes.length} changes, but its limit is ${limit}`,
    )
    const last = page.changes.at(-1)?.position ?? page.position
    checkSame(page.position, last, 'the position of a page, which must be that of its last change')
    changes.push(...page.changes)
    position = page.position
    if (!page.more) return { changes, position }
  }
}

/** Returns the part of a change that tests compare. */
export const plainChange = ({ write, time, position, ...change }: Change): PlainChange => change

/** Checks that the log contains exactly these changes after a position. Returns the position after them. */
export async function checkLog(
  adapter: LoggingAdapter,
  after: string,
  expected: readonly PlainChange[],
  what: string,
): Promise<string> {
  const { changes, position } = await readLog(adapter, after)
  checkSame(changes.map(plainChange), expected, `the log ${what}`)
  return position
}
