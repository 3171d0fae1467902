import type { Filter } from '../../core/filter/filter.js'
import type { ListQuery, StoredDocument } from '../../core/storage.js'
import { compileCondition } from './compile-condition.js'
import type { Bind, CompileOptions, LockUse, SqlDialect, Statement, Value } from './dialect.js'
import { pinnedIds } from './pinned-ids.js'

/**
 * A statement that selects or removes the matches of a filter. If it is not exact, the caller must apply the filter to
 * the rows that it returns.
 */
export interface FilteredStatement extends Statement {
  readonly isExact: boolean
}

/** Documents of one collection that a write names by `_id`, and the strongest `LockUse` of any of them. */
export interface NamedDocuments {
  readonly collection: string
  readonly ids: readonly string[]
  readonly use: LockUse
}

/** A query, without the parts that do not affect its statement. */
type StatementQuery = Omit<ListQuery, 'signal'>

/** Builds statements. */
export type Statements = ReturnType<typeof createStatements>

/** Builds a statement. Its parameters are numbered in the order in which `write` binds their values. */
export function writeStatement({ parameter }: SqlDialect, write: (bind: Bind) => string): Statement {
  const values: Value[] = []
  return { text: write((value) => parameter(values.push(value), value)), values }
}

/** Builds the ORDER BY clause of a list. It is empty if the list has no order. */
export const writeOrder = (dialect: SqlDialect, sort: ListQuery['sort']): string =>
  sort.length > 0
    ? ` ORDER BY ${sort.map(({ field, descending }) => dialect.order(field, descending)).join(', ')}`
    : ''

/** Creates the statements of a dialect. */
export function createStatements(dialect: SqlDialect) {
  const version = dialect.value({ path: '_version', type: 'integer', each: false })
  const compile = (
    collection: string,
    filter: Filter,
    options: CompileOptions,
    write: (from: string, bind: Bind, found: { readonly isExact: boolean; readonly each?: string }) => string,
  ): FilteredStatement => {
    let isExact = true
    const statement = writeStatement(dialect, (bind) => {
      const sought = dialect.seek?.(collection, filter, bind, options)
      const condition =
        sought && !options.mayWait
          ? { sql: sought.where, isExact: true }
          : compileCondition(filter, dialect, bind, options)
      isExact = condition.isExact
      const all = sought && options.mayWait ? `${sought.where} AND ${condition.sql}` : condition.sql
      const where = all === 'TRUE' ? '' : ` WHERE ${all}`
      return write(`FROM ${dialect.table(collection)}${where}`, bind, { ...sought, isExact })
    })
    return { isExact, ...statement }
  }
  type Select = (collection: string, query: StatementQuery, options?: CompileOptions) => FilteredStatement
  const select =
    (columns: string): Select =>
    (collection, { filter, sort, skip, limit }, given = {}) => {
      const options = { ...given, mayJoin: limit === null || sort.length === 0 }
      return compile(collection, filter, options, (from, bind, { isExact }) => {
        // An inexact statement has no limit: the caller filters its rows first, and then applies `skip` and `limit`.
        const page = isExact ? dialect.limit(skip, limit, bind) : ''
        return `SELECT ${columns} ${from}${writeOrder(dialect, sort)}${page}`
      })
    }
  const isCurrent = (id: string, before: number, bind: Bind): string =>
    `_id = ${bind(id)} AND ${version} = ${bind(before)}`
  const current = (collection: string, id: string, before: number, bind: Bind): string =>
    `SELECT _id, document FROM ${dialect.table(collection)} WHERE ${isCurrent(id, before, bind)}`
  const replace = (
    collection: string,
    document: StoredDocument,
    before: number,
    from: (bind: Bind) => string,
  ): Statement =>
    writeStatement(dialect, (bind) => {
      const set = `document = ${dialect.toDocument(bind(JSON.stringify(document)))}`
      const where = isCurrent(document._id, before, bind)
      return `UPDATE ${dialect.table(collection)} SET ${set}${from(bind)} WHERE ${where}`
    })
  return {
    /** Builds a statement around the documents that match: `from` is a FROM and a WHERE clause. */
    select: (
      collection: string,
      filter: Filter,
      options: CompileOptions,
      write: (from: string, bind: Bind) => string,
    ) => compile(collection, filter, { ...options, mayJoin: true }, write),
    list: select(dialect.documentText),
    /** Like `list`, but selects the documents in their stored form. */
    page: select('_id, document'),
    /** Like `list`, but selects only the `_id`s. */
    ids: select('_id'),
    count: (collection: string, filter: Filter, options: CompileOptions = {}) =>
      compile(collection, filter, { ...options, mayJoin: true }, (from, _, { isExact, each = from }) =>
        isExact ? `SELECT count(*) AS total ${each}` : `SELECT ${dialect.documentText} ${from}`,
      ),
    /**
     * Removes the documents that match. If the statement is not exact, it only selects and locks the documents that may
     * match.
     */
    remove: (collection: string, filter: Filter) =>
      compile(collection, filter, { mayJoin: true, mayWait: true }, (from, _, { isExact }) => {
        const held = dialect.hold.endings.remove ?? ''
        if (!isExact) return `SELECT ${dialect.documentText} ${from}${held}`
        // If the filter does not name the documents, a search locks them first, in the same order as named documents
        // are locked.
        return dialect.removeFound && pinnedIds(filter) === undefined
          ? dialect.removeFound(dialect.table(collection), `SELECT _id ${from}${held}`)
          : `DELETE ${from}`
      }),
    insert: (collection: string, document: StoredDocument) =>
      writeStatement(dialect, (bind) => {
        const values = [bind(document._id), dialect.toDocument(bind(JSON.stringify(document)))]
        return `INSERT INTO ${dialect.table(collection)} (_id, document) VALUES (${values.join(', ')})`
      }),
    /** Replaces a document if it still has the version `before`. */
    replace: (collection: string, document: StoredDocument, before: number) =>
      replace(collection, document, before, () => ''),
    /** Like `replace`, for an engine that can also return the replaced document, in the columns `id` and `before`. */
    swap: (collection: string, document: StoredDocument, before: number) =>
      replace(collection, document, before, (bind) => {
        const held = current(collection, document._id, before, bind)
        return ` FROM (SELECT _id AS id, document AS before FROM (${held}) AS held) AS former`
      }),
    /** Selects a document in its stored form if it still has the version `before`. */
    current: (collection: string, id: string, before: number) =>
      writeStatement(dialect, (bind) => current(collection, id, before, bind)),
    /**
     * Selects those of the named documents that exist, each as `[collection, _id, version]`, and locks them until the
     * transaction ends. The version is `null` if no step needs it.
     */
    hold: (named: readonly NamedDocuments[]) =>
      joinNamed(named, dialect.hold.most).map((together) => writeHold(dialect, together)),
  }
}

/** Builds the statement that locks the documents of some collections. */
const writeHold = (dialect: SqlDialect, together: readonly NamedDocuments[]): Statement =>
  writeStatement(dialect, (bind) =>
    together.map((one) => `SELECT held FROM (${hold(dialect, one, bind)}) AS held`).join(' UNION ALL '),
  )

function hold(dialect: SqlDialect, { collection, ids, use }: NamedDocuments, bind: Bind): string {
  const held = dialect.toArray([bind(collection), '_id', use === 'require' ? 'NULL' : dialect.storedVersion])
  const where = dialect.isOneOf('_id', ids, bind)
  return `SELECT ${held} AS held FROM ${dialect.table(collection)} WHERE ${where}${dialect.hold.endings[use]}`
}

/** Divides named documents into groups. Each group is locked by one statement. */
function joinNamed(
  named: readonly NamedDocuments[],
  most: number | null,
): readonly (readonly NamedDocuments[])[] {
  if (named.length === 0) return []
  return most === null
    ? [named]
    : named.flatMap((one) => split(one.ids, most).map((ids) => [{ ...one, ids }]))
}

const split = <T>(all: readonly T[], most: number): readonly (readonly T[])[] =>
  all.length <= most ? [all] : [all.slice(0, most), ...split(all.slice(most), most)]
