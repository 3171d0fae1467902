import { foldDocuments } from '../../../core/aggregates/fold.js'
import { bounds } from '../../../core/bounds.js'
import { type Filter, isNothing } from '../../../core/filter/filter.js'
import { compileJudge } from '../../../core/filter/matches.js'
import { whenReady } from '../../../core/promises.js'
import { inSlices, mapSliced } from '../../../core/slices.js'
import type {
  Aggregated,
  AggregateQuery,
  CallOptions,
  LinkedList,
  Listed,
  ListedTogether,
  ListQuery,
  MaybePromise,
  StoredDocument,
} from '../../../core/storage.js'
import { collectPage } from '../../sql/read/collect-page.js'
import { judgeTexts, parseDocument, type ReceiveMatch } from '../../sql/read/judge-texts.js'
import { type FilteredStatement, writeOrder } from '../../sql/statements.js'
import { fitFilter } from './fit-filter.js'
import type { ProgramDriver } from './program-driver.js'
import { programEngine } from './program-engine.js'
import { readAll, readRows } from './read-rows.js'

const { dialect, statements } = programEngine

/** See `StorageAdapter.list`. */
export function list(driver: ProgramDriver, collection: string, query: ListQuery): MaybePromise<Listed> {
  const { filter, bytes } = query
  if (isNothing(filter)) return []
  if (!fitFilter(filter, driver.limits).isExact) return listJudged(driver, collection, query)
  const statement = bytes === undefined ? statements.list(collection, query) : boundedList(collection, query)
  return whenReady(readRows(driver, statement), (rows) =>
    inSlices(
      (slices) => {
        const rest: string[] = []
        const documents: StoredDocument[] = []
        const parsing = mapSliced(slices, rows, (row) => {
          const text = String(row)
          if (text.startsWith('"')) rest.push(JSON.parse(text) as string)
          else documents.push(parseDocument(text, slices))
        })
        return whenReady(
          parsing,
          (): Listed => (rest.length > 0 ? Object.assign(documents, { rest }) : documents),
        )
      },
      () => query.signal,
    ),
  )
}

/**
 * Selects the JSON text of each document of a list until the texts exceed the bytes of the query, and then the `_id` of
 * each further document as JSON.
 */
function boundedList(collection: string, query: ListQuery): FilteredStatement {
  const { filter, sort, skip, limit, bytes = Number.MAX_SAFE_INTEGER } = query
  const order = writeOrder(dialect, sort)
  return statements.select(collection, filter, {}, (from, bind) => {
    const page = `SELECT _id, document ${from}${order}${dialect.limit(skip, limit, bind)}`
    const columns =
      '_id, document, row_number() OVER page AS place, sum(octet_length(document)) OVER page AS total'
    const counted = `SELECT ${columns} FROM (${page}) WINDOW page AS (${order} ROWS UNBOUNDED PRECEDING)`
    const isHeld = `place = 1 OR total <= ${bind(bytes)}`
    return `SELECT iif(${isHeld}, document, json_quote(_id)) FROM (${counted}) ORDER BY place`
  })
}

/** See `StorageAdapter.listTogether`. Leaves lists that are long, or whose filter no statement can evaluate. */
export function listTogether(
  driver: ProgramDriver,
  lists: readonly LinkedList[],
  { signal }: CallOptions,
): MaybePromise<ListedTogether> {
  const bytes = Math.floor(bounds.readBytes / lists.length)
  const asked = lists.flatMap(({ in: collection, filter, limit }, place) => {
    if (isNothing(filter) || !fitFilter(filter, driver.limits).isExact) return []
    return [{ place, statement: boundedList(collection, { filter, sort: [], skip: 0, limit, bytes }) }]
  })
  const reading = readAll(
    driver,
    asked.map(({ statement }) => statement),
  )
  return whenReady(reading, (found) => {
    const texts = new Map(asked.map(({ place }, i) => [place, found[i]?.map(String)]))
    return inSlices(
      (slices) =>
        mapSliced(slices, lists, ({ filter }, place) => {
          if (isNothing(filter)) return []
          const rows = texts.get(place)
          const isWhole = !rows?.some((text) => text.startsWith('"'))
          return isWhole ? rows?.map((text) => parseDocument(text, slices)) : undefined
        }),
      () => signal,
    )
  })
}

/** Lists documents whose filter no statement can evaluate. */
function listJudged(driver: ProgramDriver, collection: string, query: ListQuery): MaybePromise<Listed> {
  const { skip, limit, bytes } = query
  const page = collectPage(bytes)
  let passed = 0
  const take = (document: StoredDocument, size: number): boolean => {
    passed += 1
    if (passed > skip) page.add(document, size)
    return limit === null || passed < skip + limit
  }
  if (limit === 0) return []
  return whenReady(judge(driver, collection, query, take), () => page.list())
}

/** Passes the documents that match to `take`, in order, until it returns false. */
function judge(
  driver: ProgramDriver,
  collection: string,
  { filter, sort, signal }: Pick<ListQuery, 'filter' | 'signal'> & Partial<Pick<ListQuery, 'sort'>>,
  take: ReceiveMatch,
): MaybePromise<boolean> {
  const fitted = fitFilter(filter, driver.limits)
  const query = { filter: fitted.filter, sort: sort ?? [], skip: 0, limit: null }
  return whenReady(readRows(driver, statements.list(collection, query)), (rows) =>
    inSlices(
      (slices) => judgeTexts(rows.map(String), compileJudge(filter), take, slices),
      () => signal,
    ),
  )
}

/** See `StorageAdapter.count`. */
export function count(
  driver: ProgramDriver,
  collection: string,
  filter: Filter,
  { signal }: CallOptions,
): MaybePromise<number> {
  if (isNothing(filter)) return 0
  if (fitFilter(filter, driver.limits).isExact)
    return whenReady(readRows(driver, statements.count(collection, filter)), ([total]) => Number(total))
  let total = 0
  const take = (): boolean => ++total > 0
  return whenReady(judge(driver, collection, { filter, ...(signal ? { signal } : {}) }, take), () => total)
}

/** See `StorageAdapter.aggregate`. */
export function aggregate(
  driver: ProgramDriver,
  collection: string,
  query: AggregateQuery,
): MaybePromise<Aggregated> {
  const fold = foldDocuments(query)
  if (isNothing(query.filter)) return fold.finish()
  const slice = { left: 0 }
  const take: ReceiveMatch = (document) => fold.add(document, slice)
  return whenReady(judge(driver, collection, query, take), fold.finish)
}
