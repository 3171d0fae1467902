import type { AdapterCase } from '../../adapter-case.js'
import { check, checkSame, print } from '../../check/check.js'
import { documentOf, insertAll } from '../../check/documents.js'
import { findEnd, readLog } from '../../check/plain-log.js'
import { LOGGED, logCase } from './with-log.js'

/** Positions after a backup was restored. */
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
    // The positions of a page without changes, and of the end.
    const idle = (await first.changes(position, { limit: 1 })).position
    const undone = [...changes.map((change) => change.position), position, idle, await findEnd(first)]
    await first.close()
    await restore()
    await first.open(LOGGED)
    for (const after of undone)
      check(
        (await first.changes(after, { limit: 10 })).gap,
        `${print(after)} is not a gap, although its change no longer exists`,
      )
    // The same positions, and partly the same documents.
    for (const id of ['c', 'e', 'f']) await insertAll(first, 'things', [documentOf(id, { n: 2 })])
    for (const after of undone)
      check(
        (await first.changes(after, { limit: 10 })).gap,
        `${print(after)} is accepted as the position of another change`,
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
