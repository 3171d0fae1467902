import { and, type Filter } from '../../../filter/filter.js'
import { compileCondition } from '../../sql/compile-condition.js'
import { type Bind, quoteName, type Statement } from '../../sql/dialect.js'
import { writeStatement } from '../../sql/statements.js'
import { sqliteDialect } from '../sqlite-dialect.js'
import type { ReadPath } from './read-path.js'

/** Values are to be bound in the order in which they stand in a statement. */
const write = (parts: (bind: Bind, where: (filters: readonly Filter[]) => string) => string): Statement =>
  writeStatement(sqliteDialect, (bind) =>
    parts(bind, (filters) => compileCondition(and(filters), sqliteDialect, bind).sql),
  )

/** The table, and the index that SQLite is to use: what it cannot answer is not in the condition. */
const fromOf = (collection: string, { index }: ReadPath): string =>
  `FROM ${sqliteDialect.table(collection)} ${index === null ? 'NOT INDEXED' : `INDEXED BY ${quoteName(index)}`}`

const orderOf = ({ order }: ReadPath): string =>
  order.length === 0
    ? ''
    : ` ORDER BY ${order.map(({ field, descending }) => sqliteDialect.order(field, descending)).join(', ')}`

/** What a statement gives of each document that meets a condition: its text, or that it does. */
export type Column = 'document' | 'match'

const SIZE = 'octet_length(document)'

/**
 * Every document of a path, in its order: its text where `asked` holds, else its size. For `match`: its size, below
 * zero where `asked` holds.
 */
export const walkStatement = (
  collection: string,
  path: ReadPath,
  asked: readonly Filter[],
  column: Column,
): Statement =>
  write((_, where) => {
    const isAll = asked.length === 0
    // What an index answers alone is not worth a look at the document.
    const found = column === 'document' ? 'document' : isAll ? '-1' : `-${SIZE}`
    const columns = isAll ? found : `iif(${where(asked)}, ${found}, ${SIZE})`
    return `SELECT ${columns} ${fromOf(collection, path)} WHERE ${where(path.bounds)}${orderOf(path)}`
  })

/** The documents of a path that ask for no more; one of more bytes than `cap`, if there is one, is NULL. */
export const pageStatement = (
  collection: string,
  path: ReadPath,
  { skip, limit, cap }: { readonly skip: number; readonly limit: number; readonly cap: number | null },
): Statement =>
  write((bind, where) => {
    const from = `${fromOf(collection, path)} WHERE ${where(path.bounds)}${orderOf(path)}`
    const column = cap === null ? 'document' : `iif(${SIZE} <= ${cap}, document, NULL)`
    return `SELECT ${column} ${from}${sqliteDialect.limit(skip, limit, bind)}`
  })

/** How many documents there are on a path, at most `most`; of an index alone. */
export const countStatement = (collection: string, path: ReadPath, most: number): Statement =>
  write((bind, where) => {
    const from = `${fromOf(collection, path)} WHERE ${where(path.bounds)}`
    return `SELECT count(*) FROM (SELECT 1 ${from} LIMIT ${bind(most)})`
  })

/**
 * How many documents there are on a path, or in all, which takes less than to stop somewhere; NULL where the collection
 * may have more than so many.
 */
export const countAllStatement = (collection: string, path: ReadPath, most: number): Statement =>
  write((bind, where) => {
    const table = sqliteDialect.table(collection)
    const isSmall = `(SELECT coalesce(max(rowid), 0) FROM ${table}) <= ${bind(most)}`
    const from = path.index === null ? `FROM ${table}` : fromOf(collection, path)
    // Without any condition SQLite counts pages rather than rows.
    const bounds = path.bounds.length === 0 ? '' : ` WHERE ${where(path.bounds)}`
    return `SELECT CASE WHEN ${isSmall} THEN (SELECT count(*) ${from}${bounds}) END`
  })

/** How many documents come behind a place, up to a number of them: their number, the last place, and their bytes. */
export const rangeStatement = (collection: string): string =>
  `SELECT count(*), max(place), total(size) FROM (
    SELECT rowid AS place, ${SIZE} AS size FROM ${sqliteDialect.table(collection)} WHERE rowid > ? ORDER BY rowid LIMIT ?)`

/** The documents between two places that meet a condition, or their number; the places are to be bound first. */
export const scanStatement = (collection: string, asked: readonly Filter[], column: Column): Statement =>
  write((_, where) => {
    const columns = column === 'document' ? 'document' : 'count(*)'
    const table = sqliteDialect.table(collection)
    return `SELECT ${columns} FROM ${table} NOT INDEXED WHERE rowid > ? AND rowid <= ? AND ${where(asked)}`
  })
