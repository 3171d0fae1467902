import type { Change, StoredDocument, WriteStep } from '../../../../storage.js'
import type { AdapterCase } from '../../adapter-case.js'
import { check, checkSame, print } from '../../check/check.js'
import { eq, ID, queryOf } from '../../check/documents.js'
import { findEnd, type LoggingAdapter, readLog } from '../../check/plain-log.js'
import { createRandom, type Random } from '../../fuzz/random.js'
import { logCase } from './with-log.js'

const IDS = ['a', 'b', 'c', 'd', 'e', 'f'] as const

/** Engines keep properties in any order. */
const printChange = ({ id, before, after }: Pick<Change, 'id' | 'before' | 'after'>): string =>
  print([id, before?._version ?? 0, before?.n ?? 0, after?._version ?? 0, after?.n ?? 0])

/** Changes one to three documents, unless another write came first. Returns the changes that it made. */
async function writeSome(adapter: LoggingAdapter, random: Random): Promise<readonly string[]> {
  const ids = random.sample(IDS, random.integer(1, 3))
  const steps: WriteStep[] = []
  const made: string[] = []
  for (const id of ids) {
    const [before = null] = await adapter.list('things', queryOf({ filter: eq(ID, id) }))
    // As in a service, a version does not repeat when a document is deleted and created again.
    const _version = before ? before._version + 1 : Math.floor(random.next() * 2 ** 40)
    const after: StoredDocument | null =
      before && random.chance(0.2) ? null : { _id: id, _version, n: random.next() }
    if (!before && after) steps.push({ in: 'things', insert: after })
    else if (before && after) steps.push({ in: 'things', replace: after, version: before._version })
    else if (before)
      steps.push(
        { in: 'things', require: id, version: before._version },
        { in: 'things', remove: eq(ID, id), expect: 1 },
      )
    if (before || after) made.push(printChange({ id, before, after }))
  }
  return (await adapter.write(steps, {})).ok ? made : []
}

/** Follows the log until `isOver`, and to its end. */
async function follow(
  adapter: LoggingAdapter,
  start: string,
  isOver: () => boolean,
): Promise<readonly Change[]> {
  const changes: Change[] = []
  let position = start
  for (;;) {
    const isLast = isOver()
    const page = await adapter.changes(position, { limit: 7, wait: 5 })
    changes.push(...page.changes)
    position = page.position
    if (isLast && page.changes.length === 0 && !page.more) return changes
  }
}

/** Many writes at once, from two connections, while both logs are read. */
export const logRaceCases: readonly AdapterCase[] = [
  logCase(
    'a reader that follows it and one that reads it later see all changes alike',
    async (first, second) => {
      const start = await findEnd(first)
      let isOver = false
      const readers = [first, second].map((adapter) => follow(adapter, start, () => isOver))
      const made: string[] = []
      const writers = Array.from({ length: 8 }, async (_, i) => {
        const random = createRandom(i)
        for (let round = 0; round < 25; round++)
          made.push(...(await writeSome(i % 2 ? first : second, random)))
      })
      await Promise.all(writers)
      isOver = true
      const [seen = [], other] = await Promise.all(readers)
      checkSame(other, seen, 'what two readers have seen')
      checkSame((await readLog(second, start)).changes, seen, 'what is read later')
      const told = seen.map(printChange)
      check(made.length > 50, `only ${made.length} changes were made`)
      checkSame([...told].sort(), [...made].sort(), 'what was recorded, and what was written')
      const present = new Map<string, StoredDocument | null>()
      for (const { id, before, after, position } of seen) {
        checkSame(before, present.get(id) ?? null, `${id} before its change at ${position}`)
        present.set(id, after)
      }
    },
  ),
]
