import { everything } from '../../../../../core/filter/filter.js'
import type { Change, StoredDocument, WriteStep } from '../../../../../core/storage.js'
import type { AdapterCase } from '../../adapter-case.js'
import { check, checkSame, isSame, print, rejectionOf } from '../../check/check.js'
import { stepsIn } from '../../check/check-write.js'
import { documentOf, eq, ID, insertAll, queryOf } from '../../check/documents.js'
import { findEnd, hasLog, type LoggingAdapter, plainChange, readLog } from '../../check/plain-log.js'
import { withAdapter } from '../../check/with-adapter.js'
import { createRandom, type Random } from '../../fuzz/random.js'
import { LOGGED, logCase } from './with-log.js'

const inThings = stepsIn('things')

const IDS = ['a', 'b', 'c', 'd', 'e', 'f'] as const

/** Prints a change independently of the order of properties, because databases may reorder them. */
const printChange = ({ id, before, after }: Pick<Change, 'id' | 'before' | 'after'>): string =>
  print([id, before?._version ?? 0, before?.n ?? 0, after?._version ?? 0, after?.n ?? 0])

/**
 * Changes one to three documents in one write. Returns the changes, or none if the write was rejected because another
 * write came first.
 */
async function writeSome(adapter: LoggingAdapter, random: Random): Promise<readonly string[]> {
  const ids = random.sample(IDS, random.integer(1, 3))
  const steps: WriteStep[] = []
  const made: string[] = []
  for (const id of ids) {
    const [before = null] = await adapter.list('things', queryOf({ filter: eq(ID, id) }))
    // As in a service, a document that is created again after a deletion does not get an earlier version again.
    const _version = before ? before._version + 1 : Math.floor(random.next() * 2 ** 40)
    const after: StoredDocument | null =
      before && random.chance(0.2) ? null : { _id: id, _version, n: random.next() }
    if (!before && after) steps.push(inThings.insert(after))
    else if (before && after) steps.push(inThings.replace(after, before._version))
    else if (before) steps.push(inThings.require(id, before._version), inThings.remove(eq(ID, id), 1))
    if (before || after) made.push(printChange({ id, before, after }))
  }
  return (await adapter.write(steps, {})).ok ? made : []
}

/** Follows the log until `isOver` returns true, and then reads to its end. */
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

/** Cases with many simultaneous writes from two connections while both connections read the log. */
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
      checkSame(other, seen, 'the changes that two waiting readers received')
      checkSame((await readLog(second, start)).changes, seen, 'the changes that a later reader received')
      const told = seen.map(printChange)
      check(made.length > 50, `only ${made.length} changes were made, but more than 50 are expected`)
      checkSame(
        [...told].sort(),
        [...made].sort(),
        'the recorded changes, which must be those that were written',
      )
      const present = new Map<string, StoredDocument | null>()
      for (const { id, before, after, position } of seen) {
        checkSame(before, present.get(id) ?? null, `${id} before its change at ${position}`)
        present.set(id, after)
      }
    },
  ),
]

const many = Array.from({ length: 30 }, (_, i) => documentOf(`id${String(i).padStart(2, '0')}`, { n: i }))

/** A wait in milliseconds that is longer than any test takes. */
const LONG = 600_000

const insertOne = (adapter: LoggingAdapter, id: string): Promise<void> =>
  insertAll(adapter, 'things', [documentOf(id)])

/** Cases for reading the log. */
export const readCases: readonly AdapterCase[] = [
  logCase('pages of any length give the same changes', async (first, second) => {
    const start = await findEnd(first)
    await insertAll(first, 'things', many.slice(0, 20))
    for (const document of many.slice(20)) await insertAll(first, 'things', [document])
    await second.write([inThings.remove(everything)], {})
    const { changes } = await readLog(first, start)
    checkSame(changes.length, 60, 'the number of changes')
    for (const limit of [1, 7, 1000])
      checkSame((await readLog(second, start, limit)).changes, changes, `the log in pages of ${limit}`)
    for (const [i, { position }] of changes.entries())
      checkSame((await readLog(second, position)).changes, changes.slice(i + 1), `the log after change ${i}`)
  }),

  logCase('a page is bounded in bytes, unless it has one change', async (adapter) => {
    const start = await findEnd(adapter)
    const large = many.slice(0, 6).map((document) => ({ ...document, text: 'ä'.repeat(5000) }))
    await insertAll(adapter, 'things', large)
    const { changes } = await readLog(adapter, start)
    for (const bytes of [1, 15_000, 25_000, 45_000]) {
      let position = start
      const read: typeof large = []
      while (read.length < large.length) {
        const page = await adapter.changes(position, { limit: 100, bytes })
        const size = new TextEncoder().encode(JSON.stringify(page.changes.map(plainChange))).length
        check(
          page.changes.length > 0 && !page.gap,
          `a page with a limit of ${bytes} bytes has no change, or a gap`,
        )
        // An adapter in memory may ignore the byte limit and return all changes in one page.
        check(
          [1, large.length].includes(page.changes.length) || size <= bytes,
          `a page with a limit of ${bytes} bytes has ${size} bytes`,
        )
        check(
          read.length + page.changes.length === 6 || page.more,
          'a page that does not contain all changes must have more: true',
        )
        read.push(...page.changes.flatMap(({ after }) => (after ? [after as (typeof large)[0]] : [])))
        position = page.position
      }
      checkSame(
        read,
        changes.map(({ after }) => after),
        `the documents in pages of ${bytes} bytes`,
      )
    }
  }),

  logCase('the end of the log is after all acknowledged writes', async (first, second) => {
    for (let round = 0; round < 10; round++) {
      await insertOne(first, `a${round}`)
      const position = await findEnd(second)
      await insertOne(first, `b${round}`)
      const { changes } = await readLog(second, position)
      checkSame(
        changes.map(({ id }) => id),
        [`b${round}`],
        'the changes after the end',
      )
    }
  }),

  logCase('positions and times are text and numbers of bounded size', async (adapter) => {
    const start = await findEnd(adapter)
    const before = Date.now()
    await insertAll(adapter, 'things', many)
    const { changes, position } = await readLog(adapter, start)
    for (const text of [start, position, ...changes.map((change) => change.position)])
      check(text.length <= 256, `a position has ${text.length} characters, but may have at most 256`)
    checkSame(new Set(changes.map((change) => change.position)).size, many.length, 'distinct positions')
    // A difference of an hour is allowed, because the database may run on another machine with another clock.
    for (const { time } of changes)
      check(
        Number.isSafeInteger(time) && Math.abs(time - before) < 3_600_000,
        `a change has the time ${time}, which is no current time in milliseconds`,
      )
  }),

  logCase('a waiting reader receives a write of any adapter', async (first, second) => {
    for (const [i, writer] of [first, second, first].entries()) {
      const position = await findEnd(first)
      const waiting = first.changes(position, { limit: 10, wait: LONG })
      await insertOne(writer, `id${i}`)
      checkSame(
        (await waiting).changes.map(({ id }) => id),
        [`id${i}`],
        'the changes that the waiting reader received',
      )
    }
  }),

  logCase('a waiting reader receives no changes without a write, and can abort', async (adapter) => {
    const position = await findEnd(adapter)
    const quiet = await adapter.changes(position, { limit: 10, wait: 20 })
    checkSame([quiet.changes, quiet.more, quiet.gap], [[], false, false], 'a page after a wait')
    const controller = new AbortController()
    const { signal } = controller
    const waiting = rejectionOf(adapter.changes(quiet.position, { limit: 10, wait: LONG, signal }))
    controller.abort(new Error('gave up'))
    check((await waiting) !== undefined, 'changes() did not reject when its signal was aborted')
    // A write to a collection that is not logged does not end the wait.
    const waitingOn = adapter.changes(position, { limit: 10, wait: LONG })
    await insertAll(adapter, 'others', many)
    await insertOne(adapter, 'a')
    checkSame(
      (await waitingOn).changes.map(({ id }) => id),
      ['a'],
      'the changes that the waiting reader received',
    )
  }),

  logCase('a position that this log did not return is a gap, before the kept changes', async (adapter) => {
    const start = await findEnd(adapter)
    await insertAll(adapter, 'things', many)
    const { changes } = await readLog(adapter, start)
    const last = changes.at(-1)?.position ?? ''
    const foreign = ['', 'x', '0', '1', 'null', '[]', '{"a":1}', "' OR 1=1", `${last} `.repeat(2), `x${last}`]
    for (const after of foreign) {
      const page = await adapter.changes(after, { limit: 100, wait: LONG })
      check(page.gap, `${print(after)} is accepted as a position, although this log did not return it`)
      check(
        isSame(page.changes, changes),
        `after the unknown position ${print(after)} the log must start at its first change`,
      )
    }
  }),

  logCase('a position lasts', async (first, _, storage) => {
    const start = await findEnd(first)
    await insertAll(first, 'things', many)
    const { changes, position } = await readLog(first, start)
    await first.close()
    await withAdapter(storage, LOGGED, async (adapter) => {
      if (!hasLog(adapter)) return
      checkSame((await readLog(adapter, start)).changes, changes, 'the log after it was opened again')
      await adapter.write([inThings.remove(eq(ID, 'id00'))], {})
      const { changes: later } = await readLog(adapter, position)
      checkSame(
        later.map(plainChange),
        [{ in: 'things', id: 'id00', before: many[0], after: null, by: null }],
        'the changes after the last position, once the log was opened again',
      )
    })
    await first.open(LOGGED)
  }),
]
