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
import type { CompileOptions, SqlDialect, Statement } from '../../sql/dialect.js'
import type { SqlEngine } from '../../sql/engine.js'
import { countNamed, findRanged, isShort, type Ranged } from '../../sql/read/is-short.js'
import { type ListedIds, streamByIds } from '../../sql/read/stream-by-ids.js'
import { createStatements, type FilteredStatement, type Statements } from '../../sql/statements.js'
import type { Caller, Manner } from '../connection/connections.js'
import type { RunStatement, Session } from '../connection/session.js'
import { explain, isInvalidRegex } from '../faults.js'
import { BATCH_BYTES } from './batch.js'
import { type CountSource, createCountReader } from './count-reader.js'
import { mergeRanges } from './merge-ranges.js'
import { pageOfIds, writeFirst } from './page.js'
import { createPageReader, readFirst } from './page-reader.js'
import { parseListed, type Texts } from './parse-documents.js'
import { createPlans, type Query } from './plans.js'
import { readInCore } from './read-in-core.js'

/** What reads need. */
export interface ReadSource extends CountSource {
  readonly engine: SqlEngine
  /** Whether what may be long would wait for a connection. */
  readonly isFullOfLong: () => boolean
  /** The indexes of a collection that a read can use. */
  readonly indexesOf: (collection: string) => readonly IndexPlan[]
}

/** The most documents that a list, or a count, finds by indexes while it does not wait with what may be long. */
const FEW = { listed: 1000, counted: 10_000 }

/** For whom is asked whether a read is long, and the most documents of one that is not. */
interface Asking {
  readonly caller: Caller
  readonly most: number
}

const LONG: Manner = { mayBeLong: true }

/** Creates the reads of an adapter. */
export function createReads({
  engine: { dialect, statements },
  use,
  watch,
  isOpen,
  isFullOfLong,
  indexesOf,
}: ReadSource): Required<Pick<StorageAdapter, 'list' | 'stream' | 'count'>> {
  const joinedDialect: SqlDialect = { ...dialect, parameter: (place) => `asked.v${place}` }
  const joined = createStatements(joinedDialect)
  const statementsBehind = (places: number): Statements =>
    createStatements({
      ...dialect,
      parameter: (place, value) => dialect.parameter(places + place, value),
    })
  const isLong = (collection: string, query: Query): boolean => !isShort(indexesOf(collection), query)
  /** Whether the parts of a filter that indexes answer have few documents. */
  const haveFew = async (
    parts: readonly Ranged[],
    collection: string,
    { caller, most }: Asking,
  ): Promise<boolean> => {
    let left = most
    for (const { filter, sort } of parts) {
      const { text, values } = statements.ids(collection, { filter, sort, skip: 0, limit: left + 1 })
      const count = `SELECT count(*) FROM (${text}) AS few`
      const [[found] = []] = await use(({ readRows }) => readRows(count, values), caller)
      left -= Number(found)
      if (left < 0) return false
    }
    return true
  }
  /** How what may be long is read. While it would wait, the indexes that answer it are asked whether it is long. */
  const mannerOf = (collection: string, filter: Filter, asking: Asking): MaybePromise<Manner> => {
    const parts = isFullOfLong() ? findRanged(indexesOf(collection), filter) : undefined
    return parts ? haveFew(parts, collection, asking).then((isShort) => ({ mayBeLong: !isShort })) : LONG
  }
  const planPage = createPlans({
    indexesOf,
    compile: (collection, query, options) =>
      mergeRanges(dialect, indexesOf(collection), collection, query) ??
      statements.page(collection, query, options),
    plan({ text, values, isExact }, collection, query, isSimple) {
      const { filter, limit, bytes } = query
      const most = Math.min(countNamed(indexesOf(collection), filter), limit ?? Number.POSITIVE_INFINITY)
      const mayBeLong = isLong(collection, query)
      // A list of values cannot be a column of what is asked for together.
      const isJoinable = isSimple && !values.some((value) => typeof value === 'object')
      const writeJoined = (): FilteredStatement =>
        mergeRanges(joinedDialect, indexesOf(collection), collection, query) ?? joined.page(collection, query)
      const join = isJoinable ? () => writeJoined().text : undefined
      const readPage = createPageReader(use, watch, {
        text,
        values,
        most,
        bytes,
        mayBeLong,
        isKept: isSimple,
        join,
      })
      return { text, isExact, mayBeLong, readPage }
    },
  })
  const planCount = createPlans({
    indexesOf,
    compile: (collection, { filter }, options) => statements.count(collection, filter, options),
    plan({ text, isExact }, collection, query, isSimple) {
      const mayBeLong = isLong(collection, query)
      const writeBehind = (places: number): string =>
        statementsBehind(places).count(collection, query.filter).text
      const readCount = createCountReader(
        { use, watch, isOpen },
        { text, mayBeLong, writeBehind: isSimple && isExact ? writeBehind : undefined },
      )
      return { isExact, mayBeLong, readCount }
    },
  })

  /** Reads; if PostgreSQL cannot compile a pattern, reads again with the patterns left to the core. */
  const read = async <T>(
    attempt: (options: CompileOptions) => MaybePromise<T>,
    options: CompileOptions = {},
  ): Promise<T> => {
    try {
      return await attempt(options)
    } catch (thrown) {
      if (options.skipPatterns || !isInvalidRegex(thrown)) throw explain(thrown)
    }
    return read(attempt, { skipPatterns: true })
  }

  /** Reads a page by a statement that selects more than its filter. */
  const collect = async (
    run: RunStatement,
    page: Statement,
    collection: string,
    query: ListQuery,
  ): Promise<Listed> => {
    const { filter, skip, limit, bytes = Number.POSITIVE_INFINITY } = query
    const found: StoredDocument[] = []
    const rest: string[] = []
    const end = limit === null ? Number.POSITIVE_INFINITY : skip + limit
    let passed = 0
    let held = 0
    await readInCore(
      run,
      { table: dialect.table(collection), page, filter, caller: query },
      (document, size) => {
        if (passed >= skip && passed < end) {
          held += size
          if (rest.length === 0 && (held <= bytes || found.length === 0)) found.push(document)
          else rest.push(document._id)
        }
        passed += 1
        return passed < end
      },
    )
    return rest.length > 0 ? Object.assign(found, { rest }) : found
  }

  return {
    async list(collection, query) {
      const found = await read((options): MaybePromise<Texts | Listed> => {
        const { plan, values } = planPage(collection, query, options)
        const page = { text: plan.text, values }
        if (!plan.isExact) return use(({ run }) => collect(run, page, collection, query), query, plan)
        if (!plan.mayBeLong) return plan.readPage(values, query, plan)
        const asking = { caller: query, most: FEW.listed }
        return whenReady(mannerOf(collection, query.filter, asking), (manner) =>
          plan.readPage(values, query, manner),
        )
      })
      // Text that waits for its turn must not hold a connection.
      return 'texts' in found ? parseListed(found, query) : found
    },
    async *stream(collection, query) {
      const asking = { caller: query, most: FEW.listed }
      const manner = await read(() => mannerOf(collection, query.filter, asking))
      const listed = await read((options) => {
        const { text, values, isExact } = statements.ids(collection, query, options)
        const work = async ({ readRows }: Session): Promise<ListedIds> => {
          // One text with all ids is much cheaper than a row for each.
          const [[ids] = []] = await readRows(`SELECT json_agg(_id)::text FROM (${text}) AS listed`, values)
          return { ids: JSON.parse(ids ?? '[]') as readonly string[], isExact }
        }
        return use(work, query, manner)
      })
      const first = writeFirst(pageOfIds(dialect.table(collection)), '$2::float8')
      yield* streamByIds(listed, query, async (ids) => {
        const fetch = ({ readRows }: Session): Promise<Texts> =>
          readFirst(readRows, first, [ids, BATCH_BYTES])
        return parseListed(await read(() => use(fetch, query, manner)), query)
      })
    },
    count(collection, filter, caller) {
      const query = { filter, sort: [], skip: 0, limit: null }
      return read((options) => {
        const { plan, values } = planCount(collection, query, options)
        if (plan.isExact) {
          if (!plan.mayBeLong) return plan.readCount(values, caller, plan)
          const asking = { caller, most: FEW.counted }
          return whenReady(mannerOf(collection, filter, asking), (manner) =>
            plan.readCount(values, caller, manner),
          )
        }
        const work = async ({ run }: Session): Promise<number> => {
          let total = 0
          const page = statements.page(collection, query, options)
          await readInCore(run, { table: dialect.table(collection), page, filter, caller }, () => {
            total += 1
            return true
          })
          return total
        }
        return use(work, caller, plan)
      })
    },
  }
}
