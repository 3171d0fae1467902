import { foldDocuments } from '../../../core/aggregates/fold.js'
import { bounds } from '../../../core/bounds.js'
import { type Filter, isNothing } from '../../../core/filter/filter.js'
import { countBytes } from '../../../core/json/bytes.js'
import { whenReady } from '../../../core/promises.js'
import { everySliced, inSlices, mapSliced } from '../../../core/slices.js'
import type {
  Aggregated,
  AggregateQuery,
  CallOptions,
  LinkedList,
  Listed,
  ListedTogether,
  ListQuery,
  MaybePromise,
} from '../../../core/storage.js'
import { compileCondition } from '../../sql/compile-condition.js'
import { collectPage } from '../../sql/read/collect-page.js'
import { parseDocument } from '../../sql/read/judge-texts.js'
import { foldNarrowRows } from '../narrow-rows.js'
import { boundedList, splitPage } from './bounded-list.js'
import { fitFilter } from './fit-filter.js'
import { readJudged } from './judged-read.js'
import type { ProgramDriver, ProgramLimits } from './program-driver.js'
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
        const { texts, rest } = splitPage(rows)
        return whenReady(
          mapSliced(slices, texts, (text) => parseDocument(text, slices)),
          (documents): Listed =>
            rest.length > 0
              ? Object.assign([...documents], { rest: rest.map((id) => JSON.parse(id) as string) })
              : documents,
        )
      },
      () => query.signal,
    ),
  )
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
    const pages = new Map(asked.map(({ place }, i) => [place, splitPage(found[i] ?? [])]))
    return inSlices(
      (slices) =>
        mapSliced(slices, lists, ({ filter }, place) => {
          if (isNothing(filter)) return []
          const page = pages.get(place)
          return page?.rest.length === 0 ? page.texts.map((text) => parseDocument(text, slices)) : undefined
        }),
      () => signal,
    )
  })
}

/** Lists documents whose filter no statement can evaluate. */
function listJudged(driver: ProgramDriver, collection: string, query: ListQuery): MaybePromise<Listed> {
  const { skip, limit, bytes } = query
  if (limit === 0) return []
  return readJudged(driver, { collection, ...query }, () => {
    const page = collectPage(bytes)
    let passed = 0
    return {
      take(document, text) {
        passed += 1
        if (passed > skip) page.add(document, countBytes(text))
        return limit === null || passed < skip + limit
      },
      finish: page.list,
    }
  })
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
  return readJudged(driver, { collection, filter, sort: [], ...(signal ? { signal } : {}) }, () => {
    let total = 0
    return { take: () => ++total > 0, finish: () => total }
  })
}

/** See `StorageAdapter.aggregate`. Selects only the values that the groups need, if a statement can. */
export function aggregate(
  driver: ProgramDriver,
  collection: string,
  query: AggregateQuery,
): MaybePromise<Aggregated> {
  const { filter, signal } = query
  if (isNothing(filter)) return foldDocuments(query).finish()
  const { filters, writeRow, add, finish } = foldNarrowRows(query)
  const write = () =>
    statements.select(collection, filter, {}, (from, bind) => {
      const row = writeRow((one) => compileCondition(one, dialect, bind).sql)
      return `SELECT ${row} AS item ${from}`
    })
  const statement = canEvaluate(filter, filters, driver.limits) ? write() : undefined
  if (statement && countBytes(statement.text) <= driver.limits.statementBytes) {
    return whenReady(readRows(driver, statement), (rows) =>
      inSlices(
        (slices) =>
          whenReady(
            everySliced(slices, rows, (row) => add(String(row), slices)),
            finish,
          ),
        () => signal,
      ),
    )
  }
  return readJudged(driver, { collection, sort: [], ...query }, (slice) => {
    const fold = foldDocuments(query)
    return { take: (document) => fold.add(document, slice), finish: fold.finish }
  })
}

/** Whether statements can evaluate a filter, and others whose results one of them selects for each match. */
function canEvaluate(filter: Filter, selected: readonly Filter[], limits: ProgramLimits): boolean {
  const within = { ...limits, depth: limits.depth - selected.length }
  return fitFilter(filter, limits).isExact && selected.every((one) => fitFilter(one, within).isExact)
}
