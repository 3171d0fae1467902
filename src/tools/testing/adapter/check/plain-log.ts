import type { Change, StorageAdapter } from '../../../../core/storage.js'
import { check, checkSame } from './check.js'

/** A change without the number of its write, its position and its time. */
export type PlainChange = Omit<Change, 'write' | 'time' | 'position'>

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
