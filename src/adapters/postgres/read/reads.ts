import { bounds } from '../../../bounds.js'
import type { Filter } from '../../../filter/filter.js'
import { whenReady } from '../../../promises.js'
import type {
  IndexPlan,
  Listed,
  ListQuery,
  MaybePromise,
  StorageAdapter,
  StoredDocument,
} from '../../../storage.js'
import type { CompileOptions, SqlDialect } from '../../sql/dialect.js'
import type { SqlEngine } from '../../sql/engine.js'
import { countNamed, findRanged, isShort, type Ranged } from '../../sql/read/is-short.js'
import { type ListedIds, streamByIds } from '../../sql/read/stream-by-ids.js'
import { createStatements, type FilteredStatement, type Statements } from '../../sql/statements.js'
import type { WorkCaller, WorkOptions } from '../connection/connections.js'
import type { DatabaseSession, RunStatement } from '../connection/session.js'
import { explain, isInvalidRegex } from '../faults.js'
import { type CountSource, createCountReader, type ReadCount } from './count-reader.js'
import { mergeRanges } from './merge-ranges.js'
import { pageOfIds, writeFirst } from './page.js'
import { createPageReader, type ReadPage, readFirst } from './page-reader.js'
import { parseListed, type TextList } from './parse-documents.js'
import { createPlans, type PlanQuery } from './plans.js'
import { type CoreReading, readInCore } from './read-in-core.js'

/** The dependencies of reads. */
export interface ReadSource extends CountSource {
  readonly engine: SqlEngine
  /** Whether work that may be long would wait for a connection. */
  readonly isFullOfLong: () => boolean
  /** The indexes of a collection that a read can use. */
  readonly indexesOf: (collection: string) => readonly IndexPlan[]
}

/** The most documents that a list, or a count, may find by indexes to count as short. */
const FEW = { listed: 1000, counted: 10_000 }

const LONG: WorkOptions = { mayBeLong: true }

/** Creates the reads of an adapter. */
export function createReads(source: ReadSource): Required<Pick<StorageAdapter, 'list' | 'stream' | 'count'>> {
  const reads = new Reads(source)
  return {
    list: (collection, query) => reads.list(collection, query),
    stream: (collection, query) => reads.stream(collection, query),
    count: (collection, filter, caller) => reads.count(collection, filter, caller),
  }
}

class Reads {
  readonly #source: ReadSource
  readonly #planPage: PlanQuery<PagePlan>
  readonly #planCount: PlanQuery<CountPlan>

  constructor(source: ReadSource) {
    this.#source = source
    this.#planPage = createPagePlans(source)
    this.#planCount = createCountPlans(source)
  }

  async list(collection: string, query: ListQuery): Promise<Listed> {
    const { engine, use } = this.#source
    const found = await read((options): MaybePromise<TextList | Listed> => {
      const { plan, values } = this.#planPage(collection, query, options)
      if (!plan.isExact) {
        const page = { text: plan.text, values }
        const reading = { table: engine.dialect.table(collection), page, filter: query.filter, caller: query }
        return use(({ run }) => collect(run, reading, query), query, plan)
      }
      if (!plan.mayBeLong) return plan.readPage(values, query, plan)
      return whenReady(this.#mannerOf(collection, query.filter, query, FEW.listed), (manner) =>
        plan.readPage(values, query, manner),
      )
    })
    // A text that waits for its slice must not hold a connection.
    return 'texts' in found ? parseListed(found, query) : found
  }

  async *stream(collection: string, query: ListQuery): AsyncGenerator<readonly StoredDocument[]> {
    const { engine, use } = this.#source
    const { dialect, statements } = engine
    const manner = await read(() => this.#mannerOf(collection, query.filter, query, FEW.listed))
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
  }

  count(collection: string, filter: Filter, caller: WorkCaller): Promise<number> {
    const { engine, use } = this.#source
    const query = { filter, sort: [], skip: 0, limit: null }
    return read((options) => {
      const { plan, values } = this.#planCount(collection, query, options)
      if (!plan.isExact) {
        const page = engine.statements.page(collection, query, options)
        const reading = { table: engine.dialect.table(collection), page, filter, caller }
        return use(({ run }) => countInCore(run, reading), caller, plan)
      }
      if (!plan.mayBeLong) return plan.readCount(values, caller, plan)
      return whenReady(this.#mannerOf(collection, filter, caller, FEW.counted), (manner) =>
        plan.readCount(values, caller, manner),
      )
    })
  }

  /**
   * The options of a read that may be long. While long work would wait, a count by indexes decides whether this read
   * is long.
   */
  #mannerOf(collection: string, filter: Filter, caller: WorkCaller, most: number): MaybePromise<WorkOptions> {
    const { indexesOf, isFullOfLong } = this.#source
    const parts = isFullOfLong() ? findRanged(indexesOf(collection), filter) : undefined
    return parts
      ? this.#haveFew(parts, collection, caller, most).then((isShort) => ({ mayBeLong: !isShort }))
      : LONG
  }

  /** Whether the parts of a filter that indexes answer have few documents. */
  async #haveFew(
    parts: readonly Ranged[],
    collection: string,
    caller: WorkCaller,
    most: number,
  ): Promise<boolean> {
    const { engine, use } = this.#source
    let left = most
    for (const { filter, sort } of parts) {
      const page = { filter, sort, skip: 0, limit: left + 1 }
      const { text, values } = engine.statements.ids(collection, page)
      const count = `SELECT count(*) FROM (${text}) AS few`
      const [[found] = []] = await use(({ readRows }) => readRows(count, values), caller)
      left -= Number(found)
      if (left < 0) return false
    }
    return true
  }
}

/** How a page is read. */
interface PagePlan extends WorkOptions {
  readonly text: string
  readonly isExact: boolean
  readonly readPage: ReadPage
}

/** Creates the planner of pages. */
function createPagePlans({ engine, use, watch, indexesOf }: ReadSource): PlanQuery<PagePlan> {
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
      const readPage = createPageReader(use, watch, {
        text,
        values,
        most,
        bytes,
        mayBeLong,
        isKept: isSimple,
        join: isJoinable ? writeJoined : undefined,
      })
      return { text, isExact, mayBeLong, readPage }
    },
  })
}

/** How a count is read. */
interface CountPlan extends WorkOptions {
  readonly isExact: boolean
  readonly readCount: ReadCount
}

/** Creates the planner of counts. */
function createCountPlans(source: ReadSource): PlanQuery<CountPlan> {
  const { engine, indexesOf } = source
  const { dialect, statements } = engine
  const statementsBehind = (places: number): Statements =>
    createStatements({ ...dialect, parameter: (place, value) => dialect.parameter(places + place, value) })
  return createPlans({
    indexesOf,
    compile: (collection, { filter }, options) => statements.count(collection, filter, options),
    plan({ text, isExact }, collection, query, isSimple) {
      const mayBeLong = !isShort(indexesOf(collection), query)
      const writeBehind = (places: number): string =>
        statementsBehind(places).count(collection, query.filter).text
      const readCount = createCountReader(source, {
        text,
        mayBeLong,
        writeBehind: isSimple && isExact ? writeBehind : undefined,
      })
      return { isExact, mayBeLong, readCount }
    },
  })
}

/** Reads. If PostgreSQL cannot compile a pattern, reads again without patterns; the core then evaluates them. */
async function read<T>(
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
  // One text with all ids is much cheaper than a row for each.
  const [[ids] = []] = await readRows(`SELECT json_agg(_id)::text FROM (${text}) AS listed`, values)
  return { ids: JSON.parse(ids ?? '[]') as readonly string[], isExact }
}

/** Reads a page by a statement that selects more than the filter matches. */
async function collect(
  run: RunStatement,
  reading: CoreReading,
  { skip, limit, bytes = Number.POSITIVE_INFINITY }: ListQuery,
): Promise<Listed> {
  const found: StoredDocument[] = []
  const rest: string[] = []
  const end = limit === null ? Number.POSITIVE_INFINITY : skip + limit
  let passed = 0
  let held = 0
  await readInCore(run, reading, (document, size) => {
    if (passed >= skip && passed < end) {
      held += size
      if (rest.length === 0 && (held <= bytes || found.length === 0)) found.push(document)
      else rest.push(document._id)
    }
    passed += 1
    return passed < end
  })
  return rest.length > 0 ? Object.assign(found, { rest }) : found
}

/** Counts by a statement that selects more than the filter matches. */
async function countInCore(run: RunStatement, reading: CoreReading): Promise<number> {
  let total = 0
  await readInCore(run, reading, () => {
    total += 1
    return true
  })
  return total
}
