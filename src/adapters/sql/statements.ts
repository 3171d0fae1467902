import type { Filter } from '../../filter/filter.js'
import type { ListQuery } from '../../storage.js'
import { compileCondition } from './compile-condition.js'
import type { Bind, SqlDialect, Statement, Value } from './dialect.js'

/** A statement that reads or removes by a filter. Where it is not exact, the filter must be asked once more. */
export interface FilteredStatement extends Statement {
  readonly isExact: boolean
}

export interface CompileOptions {
  /** Leaves patterns to the caller: the statement is then not exact. */
  readonly skipPatterns?: boolean
}

/** Writes statements over one collection. */
export interface Statements {
  list(collection: string, query: Omit<ListQuery, 'signal'>, options?: CompileOptions): FilteredStatement
  /** The same with the documents as they are stored. */
  page(collection: string, query: Omit<ListQuery, 'signal'>, options?: CompileOptions): FilteredStatement
  /** The ids of a list. */
  ids(collection: string, query: Omit<ListQuery, 'signal'>, options?: CompileOptions): FilteredStatement
  count(collection: string, filter: Filter, options?: CompileOptions): FilteredStatement
  remove(collection: string, filter: Filter): FilteredStatement
}

/** `parameter` writes the name of the parameter at a place, counted from 1, for a value. */
export function createStatements(
  dialect: SqlDialect,
  parameter: (place: number, value: Value) => string,
): Statements {
  const compile = (
    collection: string,
    filter: Filter,
    options: CompileOptions,
    write: (where: string, bind: Bind, isExact: boolean) => string,
  ): FilteredStatement => {
    const values: Value[] = []
    const bind: Bind = (value) => parameter(values.push(value), value)
    const { sql, isExact } = compileCondition(filter, dialect, bind, options)
    const where = sql === 'TRUE' ? '' : ` WHERE ${sql}`
    return { text: write(`FROM ${dialect.table(collection)}${where}`, bind, isExact), values, isExact }
  }
  const select = (
    columns: string,
    collection: string,
    { filter, sort, skip, limit }: Omit<ListQuery, 'signal'>,
    options: CompileOptions,
  ): FilteredStatement =>
    compile(collection, filter, options, (from, bind, isExact) => {
      const keys = sort.map(({ field, descending }) => dialect.order(field, descending))
      const order = keys.length > 0 ? ` ORDER BY ${keys.join(', ')}` : ''
      // What is not exact is cut when it has been filtered once more.
      const page = isExact ? dialect.limit(skip, limit, bind) : ''
      return `SELECT ${columns} ${from}${order}${page}`
    })
  return {
    list: (collection, query, options = {}) => select(dialect.documentText, collection, query, options),
    page: (collection, query, options = {}) => select('_id, document', collection, query, options),
    ids: (collection, query, options = {}) => select('_id', collection, query, options),
    count: (collection, filter, options = {}) =>
      compile(collection, filter, options, (from, _, isExact) =>
        isExact ? `SELECT count(*) AS total ${from}` : `SELECT ${dialect.documentText} ${from}`,
      ),
    remove: (collection, filter) =>
      compile(collection, filter, {}, (from, _, isExact) =>
        isExact ? `DELETE ${from}` : `SELECT ${dialect.documentText} ${from}`,
      ),
  }
}
