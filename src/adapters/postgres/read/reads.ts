import { bounds } from '../../../core/bounds.js'
import type { Filter, Scalar } from '../../../core/filter/filter.js'
import { compileJudge, judgeSliced } from '../../../core/filter/matches.js'
import { whenReady } from '../../../core/promises.js'
import { forEachSliced, inSlices, mapSliced } from '../../../core/slices.js'
import type {
  IndexPlan,
  Listed,
  ListQuery,
  MaybePromise,
  StorageAdapter,
  StoredDocument,
} from '../../../core/storage.js'
import type { CompileOptions, SqlDialect, Statement, Value } from '../../sql/dialect.js'
import type { SqlEngine } from '../../sql/engine.js'
import { collectPage } from '../../sql/read/collect-page.js'
import { countNamed, findRanged, isShort } from '../../sql/read/is-short.js'
import { judgeTexts, parseText, type ReceiveMatch } from '../../sql/read/judge-texts.js'
import { createStatements, type FilteredStatement } from '../../sql/statements.js'
import type { SharedStatement } from '../connection/batch.js'
import { canCancel } from '../connection/cancel.js'
import type { Connections, WorkCaller, WorkOptions } from '../connection/lease.js'
import type { DatabaseSession, RunStatement } from '../connection/session.js'
import { startTimer, stopTimer } from '../connection/timers.js'
import { inTransaction } from '../connection/transaction.js'
import { explain, isInvalidRegex } from '../faults.js'
import { createAskTogether } from './ask-together.js'
import { readTexts } from './batch.js'
import { mergeRanges } from './merge-ranges.js'
import { pageOfIds, writeAll, writeFirst, writeJoined, writeList } from './page.js'
import { createPlans, type PlanQuery } from './plans.js'

/** A read whose statement may also select documents that do not match, so that this process must filter its rows. */
interface CoreReading {
  readonly table: string
  /** Selects all documents that may match, in order. */
  readonly page: Statement
  readonly filter: Filter
  readonly caller: WorkCaller
}

/**
 * Reads the documents that a statement selects, filters them in this process, in slices, and passes the matches to
 * `take`. The read sees one snapshot, and its memory does not grow with the number of documents.
 */
export const readInCore = (
  run: RunStatement,
  { table, page, filter, caller }: CoreReading,
  take: ReceiveMatch,
): Promise<void> =>
  inTransaction(
    run,
    'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
    async () => {
      const judge = compileJudge(filter)
      for await (const texts of readTexts(run, table, page)) {
        caller.signal?.throwIfAborted()
        const goesOn = await inSlices(
          (slices) => judgeTexts(texts, judge, take, slices),
          () => caller.signal,
        )
        if (!goesOn) return
      }
    },
    () => false,
  )

/** A query for a page of documents. Each read provides its own values. */
interface PageQuery {
  readonly text: string
  /** The values of one read, which show the number and the types of the values. */
  readonly values: readonly Value[]
  /** The maximum number of documents in the page. */
  readonly most: number
  /** The maximum size of the text to read, in bytes. */
  readonly bytes: number | undefined
  readonly mayBeLong: boolean
  /** Whether the query is cached, and runs again with other values. */
  readonly isKept: boolean
  /**
   * Builds the text with the columns of `asked` (`writeJoined`) instead of parameters. Absent if one statement cannot
   * read several pages.
   */
  readonly join?: (() => string) | undefined
}

/** The result of a read: JSON texts, each with one document or with a list of documents. */
interface TextList {
  readonly texts: readonly string[]
  /** A JSON list of the `_id`s of documents beyond the byte limit. */
  readonly rest?: string | null | undefined
}

/** Parses the documents of a read. */
const parseListed = ({ texts, rest }: TextList, caller: WorkCaller): MaybePromise<Listed> =>
  inSlices(
    (slices) => {
      const parsing = mapSliced(slices, texts, (text) => parseText(text, slices))
      return whenReady(parsing, (parsed) => {
        const [first] = parsed
        // A single list is returned without a copy.
        const documents = (
          parsed.length === 1 && Array.isArray(first) ? first : parsed.flat()
        ) as StoredDocument[]
        return rest ? Object.assign(documents, { rest: JSON.parse(rest) as readonly string[] }) : documents
      })
    },
    () => caller.signal,
  )

/** Reads with the given values, and with the options of the plan unless others are given. */
type ReadValues<Result> = (
  values: readonly Value[],
  caller: WorkCaller,
  options?: WorkOptions,
) => Promise<Result>

/** A plan of reads, each of which provides its own values. */
interface ReadPlan<Result> extends WorkOptions {
  readonly text: string
  readonly isExact: boolean
  readonly readValues: ReadValues<Result>
}

/**
 * A page is first read as a whole only if its byte limit allows at least this many bytes for each document. The number
 * is lower for a cached query, because its reads stop trying for a while when a page does not fit.
 */
const MIN_SHARE = { once: 3200, kept: 256 }

/**
 * The largest document of a page that is read as a whole, as a multiple of the bytes that the byte limit allows for
 * each document.
 */
const MAX_SHARES = 4

/** After a page did not fit, this many reads do not try to read the page as a whole. */
const PAGE_READER_PAUSE = 15

/**
 * The limits of each page that shares a statement: the number of its documents, its bytes, and the bytes of one
 * document.
 */
const JOINED = { most: 32, bytes: 65_536, size: 8192 }

/** Creates the reader of a page. Small pages that are requested at the same time share one statement. */
function createPageReader(use: Connections['use'], page: PageQuery): ReadValues<TextList> {
  const { values, most, mayBeLong, join } = page
  const readAlone = createReadAlone(page)
  const alone: ReadValues<TextList> = (values, caller, options = page) =>
    use((session) => readAlone(session, values), caller, options)
  if (!join || mayBeLong || most > JOINED.most) return alone

  const { bytes, size } = JOINED
  const text = writeJoined(writeList(join(), String(bytes), String(Math.min(size, bytes / most))), values)
  return createAskTogether<TextList>({
    alone,
    async together(distinct, caller) {
      // The values of all pages for one parameter after another.
      const columns = values.map((_, i) => distinct.map((values) => values[i] as Scalar))
      const rows = await use(({ readRows }) => readRows(text, columns), caller)
      const lists = new Map(rows.map(([place, list]) => [Number(place) - 1, list]))
      return distinct.map((_, i) => {
        const list = lists.get(i)
        return typeof list === 'string' ? { texts: [list] } : undefined
      })
    },
  })
}

/**
 * Creates the function that reads one page. It first reads the page as one list, unless too few pages would fit. The
 * list is parsed in one step, because one MiB, the most that the service requests, takes less than a slice.
 */
function createReadAlone({
  text,
  values: { length },
  most,
  bytes,
  isKept,
}: PageQuery): (session: DatabaseSession, values: readonly Value[]) => Promise<TextList> {
  if (most <= 1 || bytes === undefined) {
    const all = writeAll(text)
    return async ({ readRows }, values) => ({
      texts: (await readRows(all, values)).map(([document]) => String(document)),
    })
  }
  const share = bytes / most
  const mayFit = share >= (isKept ? MIN_SHARE.kept : MIN_SHARE.once)
  const list = mayFit ? writeList(text, `$${length + 1}::float8`, `$${length + 2}::float8`) : undefined
  let first: string | undefined
  let paused = 0
  return async ({ readRows }, values) => {
    if (paused > 0) paused -= 1
    else {
      const [[found] = []] = list ? await readRows(list, [...values, bytes, MAX_SHARES * share]) : []
      if (typeof found === 'string') return { texts: [found] }
      paused = PAGE_READER_PAUSE
    }
    first ??= writeFirst(text, `$${length + 1}::float8`)
    return readFirst(readRows, first, [...values, bytes])
  }
}

/** Reads the first documents of a page, up to its limit of bytes. */
async function readFirst(
  readRows: DatabaseSession['readRows'],
  text: string,
  values: readonly Value[],
): Promise<TextList> {
  const [[list, rest] = []] = await readRows(text, values)
  return { texts: [list ?? '[]'], rest }
}

/** The maximum number of counts in one statement. It is low, because PostgreSQL computes them one after another. */
const MOST_TOGETHER = 4

/** Milliseconds after which a shared statement is abandoned, so that one slow count does not delay the others. */
const PATIENCE = 500

/** After a shared statement took long, this many counts are read alone. */
const PAUSE = 64

/**
 * Creates the reader of a count. Counts that are requested together, or while other counts run, share one statement,
 * because sending a statement and receiving its result costs this process more than the rest of a request.
 * `writeBehind` builds the text with its parameters numbered after `places` other parameters. It is absent if the text
 * depends on the values.
 */
function createCountReader(
  { use, isOpen }: ReadSource,
  { text, mayBeLong }: { readonly text: string; readonly mayBeLong: boolean },
  writeBehind: ((places: number) => string) | undefined,
): ReadValues<number> {
  const alone: ReadValues<number> = (values, caller, options = { mayBeLong }) =>
    use(async ({ readRows }) => Number((await readRows(text, values))[0]?.[0]), caller, options)
  if (!writeBehind) return alone

  let paused = 0
  const texts: string[] = []
  /**
   * Runs the shared statement on a connection, and abandons it after `PATIENCE` milliseconds. The time in which it
   * waited for the connection does not count.
   */
  const readShared = async (
    { client, readRows }: DatabaseSession,
    distinct: readonly (readonly Value[])[],
    shared: SharedStatement,
  ): Promise<readonly number[]> => {
    const { length } = distinct
    const places = distinct[0]?.length ?? 0
    texts[length] ??=
      `SELECT ${distinct.map((_, i) => `(${writeBehind(i * places)}) AS total${i}`).join(', ')}`
    const abandon = (): void => {
      if (!canCancel(client) || !isOpen()) return
      paused = PAUSE
      shared.abandon()
    }
    const timer = startTimer(abandon, PATIENCE)
    try {
      const [totals = []] = await readRows(texts[length] ?? '', distinct.flat())
      return totals.map(Number)
    } finally {
      stopTimer(timer)
    }
  }
  const ask = createAskTogether<number>({
    alone,
    most: MOST_TOGETHER,
    together: (distinct, shared) =>
      use((session) => readShared(session, distinct, shared), shared, { mayBeLong }),
  })
  return (values, caller, options) => {
    // Counts with the options of the plan share statements, and other counts are read alone.
    const isBeside = options !== undefined && options.mayBeLong !== mayBeLong
    if (!isBeside && paused === 0) return ask(values, caller)
    if (!isBeside) paused -= 1
    return alone(values, caller, options)
  }
}

/** The dependencies of reads. */
export interface ReadSource {
  readonly engine: SqlEngine
  readonly use: Connections['use']
  /** Whether the adapter is open. */
  readonly isOpen: () => boolean
  /** Whether work that may be long would have to wait for a connection. */
  readonly isFullOfLong: () => boolean
  /** The indexes of a collection that a read can use. */
  readonly indexesOf: (collection: string) => readonly IndexPlan[]
}

/** A list or a count is short if its indexes find at most this many documents. */
export const FEW = { listed: 1000, counted: 10_000 }

const LONG: WorkOptions = { mayBeLong: true }

/** The number of documents in one batch. */
const BATCH = 500

/** The ids that a list has found, in the order of the list. */
interface ListedIds {
  readonly ids: readonly string[]
  /** If false, some documents may not match, and `skip` and `limit` are still to be applied to those that match. */
  readonly isExact: boolean
}

/**
 * Streams a list in batches. It keeps only the ids in memory, and locks nothing between batches. Documents that no
 * longer match when their batch is read are omitted. `fetch` returns the documents with the given ids, in any order. If
 * these are too large in total, it returns the documents with the first ids, and the other ids as `rest`, in order.
 */
async function* streamByIds(
  { ids, isExact }: ListedIds,
  { filter, skip, limit, signal }: ListQuery,
  fetch: (ids: readonly string[]) => Promise<Listed>,
): AsyncGenerator<readonly StoredDocument[], void, undefined> {
  const judge = compileJudge(filter)
  const end = isExact || limit === null ? Number.POSITIVE_INFINITY : skip + limit
  let passed = isExact ? skip : 0
  let next = 0
  let rest: readonly string[] = []
  while ((next < ids.length || rest.length > 0) && passed < end) {
    signal?.throwIfAborted()
    const fresh = ids.slice(next, next + BATCH - rest.length)
    next += fresh.length
    const some = [...rest, ...fresh]
    const fetched = await fetch(some)
    rest = fetched.rest ?? []
    const byId = new Map(fetched.map((document) => [document._id, document]))
    const inOrder = some.flatMap((id) => byId.get(id) ?? [])
    const found: StoredDocument[] = []
    await inSlices(
      (slices) =>
        forEachSliced(slices, inOrder, (document) =>
          whenReady(judgeSliced(judge, document, slices), (isMatch) => isMatch && found.push(document)),
        ),
      () => signal,
    )
    const batch = found.slice(Math.max(0, skip - passed), Math.max(0, end - passed))
    passed += found.length
    if (batch.length > 0) yield batch
  }
}

/** Creates the reads of an adapter. */
export function createReads(source: ReadSource): Required<Pick<StorageAdapter, 'list' | 'stream' | 'count'>> {
  const { engine, use } = source
  const { dialect, statements } = engine
  const planPage = createPagePlans(source)
  const planCount = createCountPlans(source)
  return {
    async list(collection, query) {
      const table = dialect.table(collection)
      const found = await read((options): MaybePromise<TextList | Listed> => {
        const { plan, values } = planPage(collection, query, options)
        if (!plan.isExact) {
          const page = { text: plan.text, values }
          const reading = { table, page, filter: query.filter, caller: query }
          return use(({ run }) => collect(run, reading, query), query, plan)
        }
        if (!plan.mayBeLong) return plan.readValues(values, query)
        return whenReady(findOptions(source, { collection, ...query }, query, FEW.listed), (options) =>
          plan.readValues(values, query, options),
        )
      })
      // The texts are parsed after the connection was returned, because parsing may have to wait for a slice.
      return 'texts' in found ? parseListed(found, query) : found
    },
    async *stream(collection, query) {
      const manner = await read(() => findOptions(source, { collection, ...query }, query, FEW.listed))
      const listed = await read((options) => {
        const ids = statements.ids(collection, query, options)
        return use((session) => listIds(session, ids), query, manner)
      })
      const first = writeFirst(pageOfIds(dialect.table(collection)), '$2::float8')
      yield* streamByIds(listed, query, async (ids) => {
        const fetch = ({ readRows }: DatabaseSession): Promise<TextList> =>
          readFirst(readRows, first, [ids, bounds.batchBytes])
        return parseListed(await read(() => use(fetch, query, manner)), query)
      })
    },
    count(collection, filter, caller) {
      const query = { filter, sort: [], skip: 0, limit: null }
      return read((options) => {
        const { plan, values } = planCount(collection, query, options)
        if (!plan.isExact) {
          const page = statements.page(collection, query, options)
          const reading = { table: dialect.table(collection), page, filter, caller }
          const countMatches = async ({ run }: DatabaseSession): Promise<number> => {
            let total = 0
            await readInCore(run, reading, () => {
              total += 1
              return true
            })
            return total
          }
          return use(countMatches, caller, plan)
        }
        if (!plan.mayBeLong) return plan.readValues(values, caller)
        return whenReady(findOptions(source, { collection, filter }, caller, FEW.counted), (options) =>
          plan.readValues(values, caller, options),
        )
      })
    },
  }
}

/**
 * Returns the options of a read that may be long. If long work would have to wait for a connection, the documents are
 * first counted by indexes, to find out whether this read is short: they find at most `most` documents.
 */
export function findOptions(
  { engine, use, indexesOf, isFullOfLong }: ReadSource,
  { collection, filter }: { readonly collection: string; readonly filter: Filter },
  caller: WorkCaller,
  most: number,
): MaybePromise<WorkOptions> {
  const parts = isFullOfLong() ? findRanged(indexesOf(collection), filter) : undefined
  if (!parts) return LONG
  const countParts = async (): Promise<WorkOptions> => {
    let left = most
    for (const { filter, sort } of parts) {
      const page = { filter, sort, skip: 0, limit: left + 1 }
      const { text, values } = engine.statements.ids(collection, page)
      const count = `SELECT count(*) FROM (${text}) AS few`
      const [[found] = []] = await use(({ readRows }) => readRows(count, values), caller)
      left -= Number(found)
      if (left < 0) return LONG
    }
    return { mayBeLong: false }
  }
  return countParts()
}

/** Creates the planner of pages. */
function createPagePlans({ engine, use, indexesOf }: ReadSource): PlanQuery<ReadPlan<TextList>> {
  const { dialect, statements } = engine
  const joinedDialect: SqlDialect = { ...dialect, parameter: (place) => `asked.v${place}` }
  const joined = createStatements(joinedDialect)
  return createPlans({
    indexesOf,
    compile: (collection, query, options) =>
      mergeRanges(dialect, indexesOf(collection), collection, query) ??
      statements.page(collection, query, options),
    plan({ text, values, isExact }, collection, query, isSimple) {
      const { filter, limit, bytes } = query
      const most = Math.min(countNamed(indexesOf(collection), filter), limit ?? Number.POSITIVE_INFINITY)
      const mayBeLong = !isShort(indexesOf(collection), query)
      // A list of values cannot be a column of shared queries.
      const isJoinable = isSimple && !values.some((value) => typeof value === 'object')
      const writeJoined = (): string =>
        (
          mergeRanges(joinedDialect, indexesOf(collection), collection, query) ??
          joined.page(collection, query)
        ).text
      const readValues = createPageReader(use, {
        text,
        values,
        most,
        bytes,
        mayBeLong,
        isKept: isSimple,
        join: isJoinable ? writeJoined : undefined,
      })
      return { text, isExact, mayBeLong, readValues }
    },
  })
}

/** Creates the planner of counts. */
function createCountPlans(source: ReadSource): PlanQuery<ReadPlan<number>> {
  const { engine, indexesOf } = source
  const { dialect, statements } = engine
  return createPlans({
    indexesOf,
    compile: (collection, { filter }, options) => statements.count(collection, filter, options),
    plan({ text, isExact }, collection, query, isSimple) {
      const mayBeLong = !isShort(indexesOf(collection), query)
      const writeBehind = (places: number): string => {
        const parameter: SqlDialect['parameter'] = (place, value) => dialect.parameter(places + place, value)
        return createStatements({ ...dialect, parameter }).count(collection, query.filter).text
      }
      const shared = isSimple && isExact ? writeBehind : undefined
      const readValues = createCountReader(source, { text, mayBeLong }, shared)
      return { text, isExact, mayBeLong, readValues }
    },
  })
}

/**
 * Runs a read. If PostgreSQL cannot compile a pattern, runs it again without patterns, which this process then
 * evaluates.
 */
export async function read<T>(
  attempt: (options: CompileOptions) => MaybePromise<T>,
  options: CompileOptions = {},
): Promise<T> {
  try {
    return await attempt(options)
  } catch (thrown) {
    if (options.skipPatterns || !isInvalidRegex(thrown)) throw explain(thrown)
  }
  return read(attempt, { skipPatterns: true })
}

async function listIds(
  { readRows }: DatabaseSession,
  { text, values, isExact }: FilteredStatement,
): Promise<ListedIds> {
  // One JSON text with all ids is much cheaper than one row for each id.
  const [[ids] = []] = await readRows(`SELECT json_agg(_id)::text FROM (${text}) AS listed`, values)
  return { ids: JSON.parse(ids ?? '[]') as readonly string[], isExact }
}

/** Reads a page with a statement that may also select documents that do not match. */
async function collect(
  run: RunStatement,
  reading: CoreReading,
  { skip, limit, bytes }: ListQuery,
): Promise<Listed> {
  const page = collectPage(bytes)
  const end = limit === null ? Number.POSITIVE_INFINITY : skip + limit
  let passed = 0
  await readInCore(run, reading, (document, text) => {
    if (passed >= skip && passed < end) page.add(document, Buffer.byteLength(text))
    passed += 1
    return passed < end
  })
  return page.list()
}
