import { bounds } from '../../../core/bounds.js'
import { compileJudge } from '../../../core/filter/matches.js'
import { isPromise, whenReady } from '../../../core/promises.js'
import { inSlices, type Slice, type Sliced } from '../../../core/slices.js'
import type { ListQuery, MaybePromise } from '../../../core/storage.js'
import type { Statement } from '../../sql/dialect.js'
import { judgeTexts, type ReceiveMatch } from '../../sql/read/judge-texts.js'
import { writeStatement } from '../../sql/statements.js'
import { boundedList, boundPage, splitPage } from './bounded-list.js'
import { fitFilter } from './fit-filter.js'
import type { ProgramDriver } from './program-driver.js'
import { programEngine } from './program-engine.js'
import { readRows } from './read-rows.js'

const { dialect, statements } = programEngine

/** Receives the matches of a read one by one, and then returns the result. It subtracts its steps from a slice. */
export interface Receiver<T> {
  readonly take: ReceiveMatch
  readonly finish: () => T
}

/** A read whose filter no statement can evaluate. */
export interface JudgedRead extends Pick<ListQuery, 'filter' | 'sort' | 'signal'> {
  readonly collection: string
}

/** A document that is read later: its `_id` and version, as JSON. */
const KEY = `json_array(_id, ${dialect.storedVersion})`

/** The maximum number of documents that are read together. */
const MOST = 5000

/**
 * Passes the documents that match to a receiver, in order and all as of one moment, until it wants no more. Reads the
 * texts of documents a few at a time, so that memory does not grow with their number: the first statement names all that
 * may match, and a document with the version that it names is still the same. If one has changed meanwhile, all are
 * read again, by a new receiver and in one statement, because writes could go on for ever.
 */
export const readJudged = <T>(
  driver: ProgramDriver,
  read: JudgedRead,
  receive: (slice: Slice) => Receiver<T>,
): MaybePromise<T> =>
  inSlices(
    (slices) => {
      const { take, finish } = receive(slices)
      return whenReady(readInParts(driver, read, take, slices), (isComplete) => {
        if (isComplete) return finish()
        const again = receive(slices)
        return whenReady(readAtOnce(driver, read, again.take, slices), again.finish)
      })
    },
    () => read.signal,
  )

/** Passes the matches to `take` until it returns false. */
type Reading = Sliced<[driver: ProgramDriver, read: JudgedRead, take: ReceiveMatch], boolean>

/** Returns the query of the statement that selects all documents that may match. */
const queryFor = ({ filter, sort }: JudgedRead, { limits }: ProgramDriver) => ({
  filter: fitFilter(filter, limits).filter,
  sort,
  skip: 0,
  limit: null,
})

const readAtOnce: Reading = (driver, read, take, slices) =>
  whenReady(readRows(driver, statements.list(read.collection, queryFor(read, driver))), (rows) =>
    judgeTexts(rows.map(String), compileJudge(read.filter), take, slices),
  )

/** Returns false if a document changed before it was read. */
const readInParts: Reading = (driver, read, take, slices) => {
  const { collection } = read
  const judge = compileJudge(read.filter)
  const query = { ...queryFor(read, driver), bytes: bounds.judgedBytes }
  return whenReady(readRows(driver, boundedList(collection, query, KEY)), (rows) => {
    const { texts, rest } = splitPage(rows)
    return whenReady(judgeTexts(texts, judge, take, slices), (goesOn) =>
      goesOn && rest.length > 0 ? readRest(rest, Math.min(MOST, texts.length)) : true,
    )
  })

  async function readRest(keys: readonly string[], first: number): Promise<boolean> {
    let most = first
    for (let place = 0; place < keys.length; ) {
      if (slices.left <= 0) await slices.next()
      const some = keys.slice(place, place + most)
      const rows = await readRows(driver, writeNamed(collection, some))
      if (rows.length < some.length) return false
      const { texts } = splitPage(rows)
      // Doubled, because a few large documents may precede many small ones.
      most = texts.length < some.length ? texts.length : Math.min(MOST, 2 * most)
      place += texts.length
      const judging = judgeTexts(texts, judge, take, slices)
      if (!(isPromise(judging) ? await judging : judging)) return true
    }
    return true
  }
}

/** Selects those of the named documents that still have the named versions, in the order of the keys. */
const writeNamed = (collection: string, keys: readonly string[]): Statement =>
  writeStatement(dialect, (bind) => {
    const named = `json_each(${bind(`[${keys.join(',')}]`)}) AS named`
    const isNamed = `_id = named.value ->> 0 AND ${dialect.storedVersion} = named.value ->> 1`
    const page = `SELECT _id, document, named.key AS turn FROM ${named} CROSS JOIN ${dialect.table(collection)} ON ${isNamed}`
    return boundPage(page, ' ORDER BY turn', { bytes: bind(bounds.judgedBytes), rest: KEY })
  })
