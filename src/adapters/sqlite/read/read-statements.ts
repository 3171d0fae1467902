import { and, type Filter } from '../../../filter/filter.js'
import type { Pattern } from '../../../filter/pattern/syntax/pattern.js'
import { isStorableText } from '../../../json/domain.js'
import { compileCondition } from '../../sql/compile-condition.js'
import { type Bind, quoteName, type SqlDialect, type Statement, type Value } from '../../sql/dialect.js'
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
  leaves.flatMap((leaf) =>
    'value' in leaf ? leaf.value : leaf.kind === 'match' ? (literalOf(leaf.pattern) ?? []) : [],
  )

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

/** The documents that a statement looks through at once, and the most bytes of each: about 5 ms in all. */
const LOOKED_THROUGH = 1024
export const SMALL = 2048

/** The most units of a literal that a statement looks for. */
const MAX_LITERAL = 64

/** The text that a pattern consists of, if a statement may look for it; it is stored as it is compared. */
export const literalOf = (pattern: Pattern): string | undefined =>
  pattern.kind === 'text' && pattern.text.length <= MAX_LITERAL && isStorableText(pattern.text)
    ? pattern.text
    : undefined

/** For documents that are small: a search through a long text could not pause. */
const literalDialect: SqlDialect = {
  ...sqliteDialect,
  match(text, pattern, bind) {
    const literal = literalOf(pattern)
    return literal === undefined ? undefined : `instr(${text}, ${bind(literal)}) > 0`
  },
}

/**
 * Selects the first documents of a path that meet its other conditions, one after another: a rule that hides documents
 * stands before what a caller asks. A NULL says that there is a larger document, or that there are more to look through.
 * `undefined` where SQLite cannot express the same conditions.
 */
export function firstStatement(collection: string, path: ReadPath, limit: number): Statement | undefined {
  let isExact = true
  const { bounds, rest } = path
  const values = [...valuesOf(rest), ...valuesOf(bounds), ...valuesOf(bounds), limit]
  const statement = writeOnce(path, 'first', values, (bind, where) => {
    const range = (): string => `${fromOf(collection, path)} WHERE ${where(bounds)}${orderOf(path)} LIMIT`
    const steps = rest.map((condition) => {
      const { sql, isExact: isAll } = compileCondition(condition, literalDialect, bind)
      isExact &&= isAll
      return `WHEN ${sql} IS NOT TRUE THEN 0`
    })
    const verdict = `CASE WHEN ${SIZE} > ${SMALL} THEN -1 ${steps.join(' ')} ELSE 1 END AS verdict`
    const looked = `SELECT document, ${verdict} ${range()} ${LOOKED_THROUGH}`
    const found = `SELECT iif(verdict > 0, document, NULL) FROM (${looked}) WHERE verdict`
    const beyond = `SELECT NULL FROM (SELECT 1 ${range()} 1 OFFSET ${LOOKED_THROUGH})`
    return `${found} UNION ALL ${beyond} LIMIT ${bind(limit)} + 0`
  })
  return isExact ? statement : undefined
}

/** Counts the documents on a path, at most `most`, from the index alone. */
export const countStatement = (collection: string, path: ReadPath, most: number): Statement =>
  writeOnce(path, 'count', [...valuesOf(path.bounds), most], (bind, where) => {
    const from = `${fromOf(collection, path)} WHERE ${where(path.bounds)}`
    return `SELECT count(*) FROM (SELECT 1 ${from} LIMIT ${bind(most)} + 0)`
  })

/**
 * Counts all documents on a path, which is faster than counting up to a limit; NULL where the collection may
 * have more than `most`.
 */
export const countAllStatement = (collection: string, path: ReadPath, most: number): Statement =>
  writeOnce(path, 'count all', [most, ...valuesOf(path.bounds)], (bind, where) => {
    const table = sqliteDialect.table(collection)
    const isSmall = `(SELECT coalesce(max(rowid), 0) FROM ${table}) <= ${bind(most)}`
    const from = path.index === null ? `FROM ${table}` : fromOf(collection, path)
    // Without conditions SQLite counts pages and not rows.
    const bounds = path.bounds.length === 0 ? '' : ` WHERE ${where(path.bounds)}`
    return `SELECT CASE WHEN ${isSmall} THEN (SELECT count(*) ${from}${bounds}) END`
  })

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
