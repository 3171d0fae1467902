import { and, type Filter } from '../../../filter/filter.js'
import { compileCondition } from '../../sql/compile-condition.js'
import { type Bind, quoteName, type Statement, type Value } from '../../sql/dialect.js'
import { writeStatement } from '../../sql/statements.js'
import { sqliteDialect } from '../sqlite-dialect.js'
import type { ReadPath } from './read-path.js'

/** The text of a statement. Values must be bound in the order of their placeholders. */
type Text = (bind: Bind, where: (filters: readonly Filter[]) => string) => string

const write = (text: Text): Statement =>
  writeStatement(sqliteDialect, (bind) =>
    text(bind, (filters) => compileCondition(and(filters), sqliteDialect, bind).sql),
  )

/** Writes a statement; where the path keeps texts, once for all values. */
function writeOnce(path: ReadPath, name: string, values: readonly Value[], text: Text): Statement {
  if (!path.texts) return write(text)
  const known = path.texts.get(name) ?? write(text).text
  path.texts.set(name, known)
  return { text: known, values }
}

/** The values that leaves bind. */
const valuesOf = (leaves: readonly Filter[]): readonly Value[] =>
  leaves.flatMap((leaf) => ('value' in leaf ? leaf.value : []))

/** The table and the index that SQLite must use; the condition has only what the index can answer. */
const fromOf = (collection: string, { index }: ReadPath): string =>
  `FROM ${sqliteDialect.table(collection)} ${index === null ? 'NOT INDEXED' : `INDEXED BY ${quoteName(index)}`}`

const orderOf = ({ order }: ReadPath): string =>
  order.length === 0
    ? ''
    : ` ORDER BY ${order.map(({ field, descending }) => sqliteDialect.order(field, descending)).join(', ')}`

/** What a statement selects for each match: its text, or that it matches. */
export type Column = 'document' | 'match'

const SIZE = 'octet_length(document)'

/**
 * Selects every document of a path, in order: its text where `asked` holds, otherwise its size. For `match`:
 * its size, negative where `asked` holds.
 */
export const walkStatement = (
  collection: string,
  path: ReadPath,
  asked: readonly Filter[],
  column: Column,
): Statement =>
  write((_, where) => {
    const isAll = asked.length === 0
    // Where the index alone answers, the document is not read.
    const found = column === 'document' ? 'document' : isAll ? '-1' : `-${SIZE}`
    const columns = isAll ? found : `iif(${where(asked)}, ${found}, ${SIZE})`
    return `SELECT ${columns} ${fromOf(collection, path)} WHERE ${where(path.bounds)}${orderOf(path)}`
  })

/** Selects the documents of a path without further conditions; one of more bytes than `cap` is NULL. */
export const pageStatement = (
  collection: string,
  path: ReadPath,
  { skip, limit, cap }: { readonly skip: number; readonly limit: number; readonly cap: number },
): Statement =>
  writeOnce(path, 'page', [cap, ...valuesOf(path.bounds), limit, skip], (bind, where) => {
    const column = `iif(${SIZE} <= ${bind(cap)}, document, NULL)`
    const from = `${fromOf(collection, path)} WHERE ${where(path.bounds)}${orderOf(path)}`
    return `SELECT ${column} ${from}${sqliteDialect.limit(skip, limit, bind)}`
  })

/** Selects the ids of documents of a path in order, from the index alone. */
export const idsStatement = (
  collection: string,
  path: ReadPath,
  { skip, limit }: { readonly skip: number; readonly limit: number },
): Statement =>
  writeOnce(path, 'ids', [...valuesOf(path.bounds), limit, skip], (bind, where) => {
    const from = `${fromOf(collection, path)} WHERE ${where(path.bounds)}${orderOf(path)}`
    return `SELECT _id ${from}${sqliteDialect.limit(skip, limit, bind)}`
  })

/** Counts the documents on a path, at most `most`, from the index alone. */
export const countStatement = (collection: string, path: ReadPath, most: number): Statement =>
  writeOnce(path, 'count', [...valuesOf(path.bounds), most], (bind, where) => {
    const from = `${fromOf(collection, path)} WHERE ${where(path.bounds)}`
    return `SELECT count(*) FROM (SELECT 1 ${from} LIMIT ${bind(most)} + 0)`
  })

/** Counts all documents on a path, which is faster than counting up to a limit. */
export const countAllStatement = (collection: string, path: ReadPath): Statement =>
  writeOnce(path, 'count all', valuesOf(path.bounds), (_, where) => {
    // Without conditions SQLite counts pages and not rows.
    const from = path.index === null ? `FROM ${sqliteDialect.table(collection)}` : fromOf(collection, path)
    return `SELECT count(*) ${from}${path.bounds.length === 0 ? '' : ` WHERE ${where(path.bounds)}`}`
  })

/** Selects the most documents that a collection may have. */
export const sizeStatement = (collection: string): string =>
  `SELECT coalesce(max(rowid), 0) FROM ${sqliteDialect.table(collection)}`

/** Measures the documents after a place, up to a number: their count, the last place, and their bytes. */
export const rangeStatement = (collection: string): string =>
  `SELECT count(*), max(place), total(size) FROM (
    SELECT rowid AS place, ${SIZE} AS size FROM ${sqliteDialect.table(collection)} WHERE rowid > ? ORDER BY rowid LIMIT ? + 0)`

/**
 * Selects the documents between two places that meet a condition, or their number; the places are bound
 * first.
 */
export const scanStatement = (collection: string, asked: readonly Filter[], column: Column): Statement =>
  write((_, where) => {
    const columns = column === 'document' ? 'document' : 'count(*)'
    const table = sqliteDialect.table(collection)
    return `SELECT ${columns} FROM ${table} NOT INDEXED WHERE rowid > ? AND rowid <= ? AND ${where(asked)}`
  })
