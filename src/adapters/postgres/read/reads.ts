import type { IndexPlan, Listed, ListQuery, StorageAdapter, StoredDocument } from '../../../storage.js'
import type { Statement } from '../../sql/dialect.js'
import type { SqlEngine } from '../../sql/engine.js'
import { countNamed, isShort } from '../../sql/is-short.js'
import type { CompileOptions, FilteredStatement } from '../../sql/statements.js'
import { streamByIds } from '../../sql/stream-by-ids.js'
import { type Connections, type Rows, type RunStatement, retry, type Use } from '../connection/connections.js'
import { explain, isInvalidRegex } from '../faults.js'
import { BATCH_BYTES, isWhole, writeBatch } from './batch.js'
import { pageOfIds, writeAll, writeFirst, writeSmall } from './page.js'
import { parseListed } from './parse-documents.js'
import { readInCore } from './read-in-core.js'

/** How many times larger the text of a document usually is, at most, than its stored form. */
const COMPRESSION = 16

/** The bytes for each document of a page that is likely to fit as a whole. */
const LIKELY_SHARE = 200 * COMPRESSION

/** What reads need. */
export interface ReadSource {
  readonly engine: SqlEngine
  readonly use: Connections['use']
  /** The indexes of a collection that a read can use. */
  readonly indexesOf: (collection: string) => readonly IndexPlan[]
}

/** Creates the reads of an adapter. */
export function createReads({
  engine: { dialect, statements },
  use,
  indexesOf,
}: ReadSource): Required<Pick<StorageAdapter, 'list' | 'stream' | 'count'>> {
  /** Reads; if PostgreSQL cannot compile a pattern, reads again with the patterns left to the core. */
  const read = async <T>(
    compile: (options: CompileOptions) => FilteredStatement,
    work: (run: RunStatement, statement: FilteredStatement) => Promise<T>,
    how: Use,
  ): Promise<T> => {
    for (const skipPatterns of [false, true]) {
      const statement = compile({ skipPatterns })
      try {
        return await retry(() => use((run) => work(run, statement), how), how.signal)
      } catch (thrown) {
        if (skipPatterns || !isInvalidRegex(thrown)) throw explain(thrown)
      }
    }
    throw new Error('a statement without patterns has an invalid one')
  }

  /** Reads a page by a statement that is exact; at most `most` documents. */
  const readPage = async (
    run: RunStatement,
    page: FilteredStatement,
    bytes: number | undefined,
    most: number,
  ): Promise<Rows> => {
    const ask = async ({ text, values }: Statement): Promise<Rows> => run(text, values)
    if (bytes === undefined || most <= 1) return ask(writeAll(page))
    const share = Math.floor(bytes / most)
    if (share >= LIKELY_SHARE) {
      const written = await ask(writeSmall(page, share, share / COMPRESSION))
      if (isWhole(written)) return written
    }
    return ask(writeFirst(page, bytes))
  }

  /** Reads a page by a statement that selects more than its filter. */
  const collect = async (
    run: RunStatement,
    page: FilteredStatement,
    collection: string,
    { filter, skip, limit, bytes = Number.POSITIVE_INFINITY, signal }: ListQuery,
  ): Promise<Listed> => {
    const found: StoredDocument[] = []
    const rest: string[] = []
    const end = limit === null ? Number.POSITIVE_INFINITY : skip + limit
    let passed = 0
    let held = 0
    await readInCore(run, { table: dialect.table(collection), page, filter, signal }, (document, size) => {
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

  /** Creates the fetch of documents by ids, in order, up to the bytes that may be held at once. */
  const createFetch = (
    collection: string,
    signal: AbortSignal | undefined,
  ): ((ids: readonly string[]) => Promise<Listed>) => {
    const table = dialect.table(collection)
    const ask = (statement: Statement): Promise<Rows> =>
      read(
        () => ({ ...statement, isExact: true }),
        (run, { text, values }) => run(text, values),
        { signal, mayBeLong: true },
      )
    let areSmall = true
    return async (ids) => {
      const page = pageOfIds(table, ids)
      if (areSmall) {
        const written = await ask(writeBatch(page))
        areSmall = isWhole(written)
        if (areSmall) return parseListed(written, signal)
      }
      return parseListed(await ask(writeFirst(page, BATCH_BYTES)), signal)
    }
  }

  return {
    async list(collection, query) {
      const { filter, limit, bytes, signal } = query
      const indexes = indexesOf(collection)
      const most = Math.min(countNamed(indexes, filter), limit ?? Number.POSITIVE_INFINITY)
      const found = await read(
        (options) => statements.page(collection, query, options),
        (run, page): Promise<Rows | Listed> =>
          page.isExact ? readPage(run, page, bytes, most) : collect(run, page, collection, query),
        { signal, mayBeLong: !isShort(indexes, query) },
      )
      // Text that waits for its turn must not hold a connection.
      return 'rows' in found ? parseListed(found, signal) : found
    },
    async *stream(collection, query) {
      const { signal } = query
      const listed = await read(
        (options) => statements.ids(collection, query, options),
        async (run, { text, values, isExact }) => {
          // One text with all ids is much cheaper than a row for each.
          const { rows } = await run(`SELECT json_agg(_id)::text AS ids FROM (${text}) AS listed`, values)
          return { ids: JSON.parse(String(rows[0]?.ids ?? '[]')) as readonly string[], isExact }
        },
        { signal, mayBeLong: true },
      )
      yield* streamByIds(listed, query, createFetch(collection, signal))
    },
    count(collection, filter, { signal }) {
      const everything = { filter, sort: [], skip: 0, limit: null }
      return read(
        (options) => {
          const counted = statements.count(collection, filter, options)
          return counted.isExact ? counted : statements.page(collection, everything, options)
        },
        async (run, statement) => {
          const { text, values, isExact } = statement
          if (isExact) return Number((await run(text, values)).rows[0]?.total)
          let total = 0
          await readInCore(run, { table: dialect.table(collection), page: statement, filter, signal }, () => {
            total += 1
            return true
          })
          return total
        },
        { signal, mayBeLong: !isShort(indexesOf(collection), everything) },
      )
    },
  }
}
