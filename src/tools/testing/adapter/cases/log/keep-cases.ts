import { everything } from '../../../../../core/filter/filter.js'
import type { StoredDocument } from '../../../../../core/storage.js'
import type { AdapterCase } from '../../adapter-case.js'
import { check, checkSame, print } from '../../check/check.js'
import { checkWrite, done } from '../../check/check-write.js'
import { documentOf, insertAll } from '../../check/documents.js'
import { checkLog, findEnd, type LoggingAdapter, readLog } from '../../check/plain-log.js'
import { LOGGED, logCase, loggedPlan } from './with-log.js'

/** Cases for positions in the log after a backup was restored. */
export const restoreCases: readonly AdapterCase[] = [
  logCase('a position that a restored backup has undone is a gap', async (first, second, storage) => {
    if (!storage.backUp) return
    await second.close()
    const start = await findEnd(first)
    await insertAll(first, 'things', [documentOf('a'), documentOf('b')])
    const end = (await readLog(first, start)).position
    const known = [end, (await first.changes(end, { limit: 1 })).position, await findEnd(first)]
    await first.close()
    const restore = await storage.backUp()
    await first.open(LOGGED)
    await insertAll(first, 'things', [documentOf('c', { n: 1 }), documentOf('d', { n: 1 })])
    const { changes, position } = await readLog(first, end)
    // Positions also come from a page without changes, and from the end of the log.
    const idle = (await first.changes(position, { limit: 1 })).position
    const undone = [...changes.map((change) => change.position), position, idle, await findEnd(first)]
    await first.close()
    await restore()
    await first.open(LOGGED)
    for (const after of undone)
      check(
        (await first.changes(after, { limit: 10 })).gap,
        `the position ${print(after)} is not a gap, although its change no longer exists`,
      )
    // In the log, these writes have the same numbers as the undone writes, and some insert the same documents.
    for (const id of ['c', 'e', 'f']) await insertAll(first, 'things', [documentOf(id, { n: 2 })])
    for (const after of undone)
      check(
        (await first.changes(after, { limit: 10 })).gap,
        `the position ${print(after)} is accepted, although it belonged to a change that the restored backup does not contain`,
      )
    for (const after of known)
      checkSame(
        (await readLog(first, after)).changes.map(({ id }) => id),
        ['c', 'e', 'f'],
        'the changes after a position from before the backup',
      )
    await second.open(LOGGED)
  }),
]

const HOUR = 60 * 60 * 1000
const ROUNDS = 120
const BYTES = 1000

let serial = 0

/** Inserts documents and reads the log until the changes after a position are deleted. */
async function waitForGap(adapter: LoggingAdapter, position: string): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    if ((await adapter.changes(position, { limit: 10 })).gap) return
    await insertAll(adapter, 'things', [documentOf(`round${serial++}`)])
    await adapter.changes(await findEnd(adapter), { limit: 1, wait: 2 })
  }
  throw new Error(`a change that need not be kept was not deleted after ${ROUNDS} writes and reads`)
}

/** Inserts documents and reads the log, because some adapters delete old changes only then. */
async function pass(adapter: LoggingAdapter): Promise<void> {
  for (let round = 0; round < 10; round++) {
    await insertAll(adapter, 'things', [documentOf(`round${serial++}`)])
    await adapter.changes(await findEnd(adapter), { limit: 1, wait: 2 })
  }
}

const markOf = (_version: number, position: string | null): StoredDocument => ({
  _id: 'one',
  _version,
  position,
})

const MARKED = [
  loggedPlan('things', { keep: 0, keepMarked: HOUR }),
  { name: 'marks', indexes: [], mark: 'position' },
]

/** Cases for how long changes remain in the log. */
export const keepCases: readonly AdapterCase[] = [
  logCase(
    'what need not be kept goes, and is a gap for a reader who comes late',
    async (first, second) => {
      const start = await findEnd(first)
      await insertAll(first, 'things', [documentOf('a'), documentOf('b')])
      await waitForGap(first, start)
      check(
        (await second.changes(start, { limit: 10 })).gap,
        'changes that one adapter deleted are still returned by another',
      )
      const end = await findEnd(second)
      const change = { in: 'things', id: 'c', before: null, after: documentOf('c') }
      await insertAll(first, 'things', [documentOf('c')])
      const page = await second.changes(end, { limit: 10 })
      checkSame(
        page.changes.map(({ id }) => id),
        page.gap ? [] : [change.id],
        'the changes after the end',
      )
    },
    [loggedPlan('things', { keep: 0 })],
  ),

  logCase(
    'what must be kept stays, through many writes',
    async (adapter) => {
      const start = await findEnd(adapter)
      const documents = Array.from({ length: 700 }, (_, i) => documentOf(`${1000 + i}`))
      await insertAll(adapter, 'things', documents)
      await adapter.write([{ in: 'things', remove: everything }], {})
      const inserted = documents.map((after) => ({
        in: 'things',
        id: after._id,
        before: null,
        after,
        by: null,
      }))
      const removed = documents.map((before) => ({
        in: 'things',
        id: before._id,
        before,
        after: null,
        by: null,
      }))
      await checkLog(adapter, start, [...inserted, ...removed], 'of 1,400 changes')
    },
    [loggedPlan('things', { keep: HOUR }), loggedPlan('others', { keep: 0 })],
  ),

  logCase(
    'a mark keeps what lies behind it',
    async (first, second) => {
      const early = await findEnd(first)
      await insertAll(first, 'things', [documentOf('a')])
      const marked = await findEnd(first)
      await insertAll(first, 'marks', [
        markOf(1, marked),
        documentOf('two'),
        documentOf('three', { position: 3 }),
      ])
      await insertAll(second, 'things', [documentOf('b')])
      await waitForGap(first, early)
      await pass(second)
      const { gap, changes } = await second.changes(marked, { limit: 1 })
      checkSame([gap, changes.map(({ id }) => id)], [false, ['b']], 'the changes after the mark')
      const replace = markOf(2, await findEnd(first))
      await checkWrite(second, [{ in: 'marks', replace, version: 1 }], done)
      await waitForGap(second, marked)
    },
    MARKED,
  ),

  logCase(
    'beyond the bytes that are kept the oldest go, but for what lies behind a mark; the newest stays',
    async (first, second) => {
      const early = await findEnd(first)
      await insertAll(first, 'things', [documentOf('a')])
      await waitForGap(first, early)
      const end = await findEnd(second)
      await insertAll(second, 'things', [documentOf('large', { text: 'x'.repeat(4 * BYTES) })])
      const { gap, changes } = await first.changes(end, { limit: 10 })
      checkSame([gap, changes.map(({ id }) => id)], [false, ['large']], 'the newest change')
      const marked = await findEnd(first)
      await insertAll(first, 'marks', [markOf(1, marked)])
      await insertAll(second, 'things', [
        documentOf('b'),
        documentOf('c', { text: 'x'.repeat(4 * BYTES) }),
        documentOf('d'),
      ])
      await pass(first)
      const held = await second.changes(marked, { limit: 3 })
      checkSame(
        [held.gap, held.changes.map(({ id }) => id)],
        [false, ['b', 'c', 'd']],
        'the changes after the mark',
      )
      const replace = markOf(2, await findEnd(first))
      await checkWrite(second, [{ in: 'marks', replace, version: 1 }], done)
      await waitForGap(second, marked)
    },
    [loggedPlan('things', { keep: HOUR, bytes: BYTES }), { name: 'marks', indexes: [], mark: 'position' }],
  ),
]
