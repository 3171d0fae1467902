import { and, type FieldRef, type Filter, ID } from '../../../filter/filter.js'
import { isOn } from '../../../filter/index-order.js'
import { type Equalities, joinEqualities } from '../../../filter/join-equalities.js'
import { CACHES } from '../../../kept/caches.js'
import { compileCondition } from '../../sql/compile-condition.js'
import { type Bind, quoteName, type SqlDialect, type Statement, type Value } from '../../sql/dialect.js'
import { writeStatement } from '../../sql/statements.js'
import { columnOf } from '../elements.js'
import { idOfLacking, sqliteDialect, writeBounds, writeColumns, writeIdAs } from '../sqlite-dialect.js'
import type { ReadPath } from './read-path.js'

/** The text of a statement. Values must be bound in the order of their placeholders. */
type StatementText = (
  bind: Bind,
  where: (filters: readonly Filter[], dialect?: SqlDialect) => string,
) => string

const write = (text: StatementText): Statement =>
  writeStatement(sqliteDialect, (bind) =>
    text(bind, (filters, dialect = sqliteDialect) => compileCondition(and(filters), dialect, bind).sql),
  )

/** Writes a statement; if the path caches texts, once for all values. */
function writeOnce(path: ReadPath, name: string, values: readonly Value[], text: StatementText): Statement {
  if (!CACHES.statements.isOn || !path.texts) return write(text)
  const known = path.texts.get(name) ?? write(text).text
  path.texts.set(name, known)
  return { text: known, values }
}

/** The values that conditions bind, in the order of `compileCondition`; a field can hold each. */
export const valuesOf = (filters: readonly (Filter | Equalities)[]): readonly Value[] =>
  filters.flatMap((filter): Value | readonly Value[] => {
    switch (filter.kind) {
      case 'and':
        return valuesOf(filter.filters)
      case 'or':
        return valuesOf(joinEqualities(filter.filters))
      case 'not':
        return valuesOf([filter.filter])
      case 'one of':
        return JSON.stringify(filter.values)
      case 'present':
      case 'match':
        return []
      default:
        return filter.value
    }
  })

/**
 * The table and the index that SQLite must use; the WHERE clause has only conditions that the index can answer. An
 * index of elements is joined with its documents unless it has all selected columns.
 */
function fromOf(collection: string, { index, table, columns }: ReadPath, isIndexAlone: boolean): string {
  const documents = sqliteDialect.table(collection)
  const use = index === null ? 'NOT INDEXED' : `INDEXED BY ${quoteName(index)}`
  if (table === undefined) return `FROM ${documents} ${use}`
  const from = `FROM ${table} ${use}`
  return isIndexAlone ? from : `${from} LEFT JOIN ${documents} ON _id = ${columnOf(columns, ID)}`
}

const rangesOf = (path: ReadPath): readonly ReadPath[] => path.ranges ?? [path]

const boundsOf = (path: ReadPath): readonly Filter[] => rangesOf(path).flatMap(({ bounds }) => bounds)

interface Selection {
  /** The selected column, or the field to select. */
  readonly column: ((range: ReadPath) => string) | FieldRef
  readonly join?: string
  /** Whether an index of elements has all selected columns. */
  readonly isIndexAlone?: boolean
}

/** How a range of an index is written. */
interface RangeText {
  /** The dialect of its bounds and keys. */
  readonly dialect: SqlDialect
  /** The dialect of a selected field. */
  readonly selecting: SqlDialect
  /** A further bound, which leaves one row. */
  readonly bound: string
}

/**
 * A unique index has the order of its fields and its last key, which is the `_id` if a field is missing. A merge
 * compares rows of several ranges, so it needs the `_id` itself. If all fields have a value, there is one row;
 * otherwise SQLite sorts rows with equal fields, which are a few that lack a field.
 */
function textOf({ binds, bounds, fixed, table, columns }: ReadPath, isMerged: boolean): RangeText {
  const plain = { dialect: sqliteDialect, selecting: sqliteDialect, bound: '' }
  if (table !== undefined)
    return { ...plain, dialect: writeBounds(columns), selecting: writeColumns(columns) }
  if (!binds) return plain
  const id = idOfLacking(binds)
  const dialect = writeIdAs(id)
  if (bounds.some(({ kind }) => kind === 'not')) return { ...plain, dialect, selecting: dialect }
  if (!isMerged) return { ...plain, dialect }
  return { ...plain, bound: fixed < binds.length ? '' : ` AND ${id} = ''` }
}

/**
 * Selects a column of the rows of a path in its order: of one range, or of several merged ranges. A merge has the
 * keys as further columns.
 */
function select(
  collection: string,
  path: ReadPath,
  where: (filters: readonly Filter[], dialect?: SqlDialect) => string,
  { column, join = 'UNION ALL', isIndexAlone = false }: Selection,
): string {
  const { order, ranges } = path
  const isOnce = join === 'UNION' && ranges?.length === 1
  const rowsOf = (range: ReadPath, keys: readonly FieldRef[]): string => {
    const { dialect, selecting, bound } = textOf(range, ranges !== undefined && order.length > 0)
    const first = typeof column === 'function' ? column(range) : selecting.value(column)
    const columns = [first, ...keys.map(selecting.value)].join(', ')
    return `SELECT ${isOnce ? 'DISTINCT ' : ''}${columns} ${fromOf(collection, range, isIndexAlone)} WHERE ${where(range.bounds, dialect)}${bound}`
  }
  if (!ranges) {
    const { dialect } = textOf(path, false)
    const keys = order.map(({ field, descending }) => dialect.order(field, descending))
    return `${rowsOf(path, [])}${keys.length === 0 ? '' : ` ORDER BY ${keys.join(', ')}`}`
  }
  // A selected column that is a key is not repeated: SQLite would sort by it again.
  const isColumn = (field: FieldRef): boolean => typeof column === 'object' && isOn(field, column)
  const further = order.flatMap(({ field }) => (isColumn(field) ? [] : [field]))
  const rows = ranges.map((range) => rowsOf(range, further))
  const places = order.map(({ field, descending }) => {
    const place = isColumn(field) ? 1 : further.indexOf(field) + 2
    return `${place}${descending ? ' DESC' : ''}`
  })
  return `${rows.join(` ${join} `)}${places.length === 0 ? '' : ` ORDER BY ${places.join(', ')}`}`
}

/** How a document in several ranges is selected once; its keys are among the columns. */
const joinOf = ({ isOverlapping }: ReadPath): string => (isOverlapping ? 'UNION' : 'UNION ALL')

/** The selected value of each match: its text, or whether it matches. */
export type SelectedColumn = 'document' | 'match'

const SIZE = 'octet_length(document)'

/**
 * Conditions on each row of a range. They are checked before its document is read if the index has all their fields.
 */
export interface Prefilter {
  readonly conditions: readonly Filter[]
  /** A text required by the core's next condition, and its field. */
  readonly literal?: Literal | undefined
}

/** A text that a field has to contain. */
export interface Literal {
  readonly field: FieldRef
  readonly text: string
}

/** The dialect of conditions on the rows of a range. */
const askingOf = ({ table, columns }: ReadPath): SqlDialect =>
  table === undefined ? sqliteDialect : writeColumns(columns)

/**
 * Whether the index of a range has all fields of conditions. Conditions on elements are excluded, because a row of
 * elements has only one of them.
 */
export function isCovered(
  range: Pick<ReadPath, 'columns' | 'binds'>,
  conditions: readonly Filter[],
): boolean {
  return conditions.every((one): boolean => {
    switch (one.kind) {
      case 'and':
      case 'or':
        return isCovered(range, one.filters)
      case 'not':
        return isCovered(range, [one.filter])
      default:
        return !one.field.each && (range.binds ?? range.columns).some((column) => isOn(one.field, column))
    }
  })
}

/**
 * Selects every document of a path, in order: its text if it meets the conditions of its range, otherwise its size.
 * For `match`: its size, negative if it meets them. The size is zero if the index alone answers. A document in
 * several ranges is selected several times.
 */
export const walkStatement = (
  collection: string,
  path: ReadPath,
  askedOf: (range: ReadPath) => Prefilter,
  column: SelectedColumn,
): Statement => {
  const asked = new Map(rangesOf(path).map((range) => [range, askedOf(range)]))
  const values = [...asked].flatMap(([{ bounds }, { conditions, literal }]) => [
    ...valuesOf(conditions),
    ...(literal ? [literal.text] : []),
    ...valuesOf(bounds),
  ])
  const hasLiteral = [...asked.values()].map(({ literal }) => (literal ? 1 : 0)).join('')
  return writeOnce(path, `${column}${hasLiteral}`, values, (bind, where) =>
    select(collection, path, where, {
      column(range) {
        const { conditions, literal } = asked.get(range) ?? { conditions: [] }
        const size = !literal && isCovered(range, conditions) ? '0' : SIZE
        const found = column === 'document' ? 'document' : size === '0' ? '-1' : `-${SIZE}`
        if (conditions.length === 0 && !literal) return found
        // Placeholders are bound in the order of the text.
        const holds = where(conditions, askingOf(range))
        const contains = literal
          ? ` AND instr(${sqliteDialect.value(literal.field)}, ${bind(literal.text)}) > 0`
          : ''
        return `iif(${holds}${contains}, ${found}, ${size})`
      },
    }),
  )
}

/** Selects the documents of a path without further conditions; one of more bytes than `cap` is NULL. */
export const pageStatement = (
  collection: string,
  path: ReadPath,
  { skip, limit, cap }: { readonly skip: number; readonly limit: number; readonly cap: number },
): Statement =>
  writeOnce(path, 'page', [cap, ...valuesOf(path.bounds), limit, skip], (bind, where) => {
    const column = `iif(${SIZE} <= ${bind(cap)}, document, NULL)`
    const rows = select(collection, path, where, { column: () => column })
    return `${rows}${sqliteDialect.limit(skip, limit, bind)}`
  })

/** Selects the ids of documents of a path in order, from indexes alone. */
export const idsStatement = (
  collection: string,
  path: ReadPath,
  { skip, limit }: { readonly skip: number; readonly limit: number },
): Statement =>
  writeOnce(path, 'ids', [...valuesOf(boundsOf(path)), limit, skip], (bind, where) => {
    const rows = select(collection, path, where, { column: ID, join: joinOf(path), isIndexAlone: true })
    return `${rows}${sqliteDialect.limit(skip, limit, bind)}`
  })

/**
 * Selects the ids of documents of a path from indexes alone, in no order. A document in several ranges is selected
 * several times.
 */
export const soughtStatement = (collection: string, path: ReadPath): Statement =>
  writeOnce(path, 'sought', valuesOf(boundsOf(path)), (_, where) =>
    select(collection, unordered(path), where, { column: ID, isIndexAlone: true }),
  )

/** Selects documents by their ids, in no order; one of more bytes than `cap` is NULL. */
export const namedStatement = (collection: string, ids: readonly unknown[], cap: number): Statement => ({
  text: `SELECT _id, iif(${SIZE} <= ?, document, NULL) FROM ${sqliteDialect.table(collection)} WHERE _id IN (SELECT value FROM json_each(?))`,
  values: [cap, JSON.stringify(ids)],
})

/** A path without its order. */
const unordered = (path: ReadPath): ReadPath => ({ ...path, order: [] })

/** The column of statements that only count rows. */
const ONE = (): string => '1'

/** Counts the rows of a path, at most `most`, from indexes alone; a document in several ranges counts several times. */
export const countStatement = (collection: string, path: ReadPath, most: number): Statement =>
  writeOnce(path, 'count', [...valuesOf(boundsOf(path)), most], (bind, where) => {
    const rows = select(collection, unordered(path), where, { column: ONE, isIndexAlone: true })
    return `SELECT count(*) FROM (${rows} LIMIT ${bind(most)} + 0)`
  })

/**
 * Counts all documents on a path, which is faster than counting up to a limit; NULL if the collection may have more
 * than `most`.
 */
export const countAllStatement = (
  collection: string,
  path: ReadPath,
  most = Number.MAX_SAFE_INTEGER,
): Statement =>
  writeOnce(path, 'count all', [most, ...valuesOf(boundsOf(path))], (bind, where) => {
    const table = sqliteDialect.table(collection)
    const isSmall = `(SELECT coalesce(max(rowid), 0) FROM ${table}) <= ${bind(most)}`
    const count = (): string => {
      if (path.ranges) {
        const column = path.isOverlapping ? ID : ONE
        const selection = { column, join: joinOf(path), isIndexAlone: true }
        return `SELECT count(*) FROM (${select(collection, unordered(path), where, selection)})`
      }
      // Without conditions SQLite counts pages and not rows.
      const from = path.index === null ? `FROM ${table}` : fromOf(collection, path, true)
      const { dialect } = textOf(path, false)
      return `SELECT count(*) ${from}${path.bounds.length === 0 ? '' : ` WHERE ${where(path.bounds, dialect)}`}`
    }
    return `SELECT iif(${isSmall}, (${count()}), NULL)`
  })

/**
 * Counts the documents of a path that meet conditions of the index, among at most `most` rows; NULL if there are more
 * rows.
 */
export const countCoveredStatement = (
  collection: string,
  path: ReadPath,
  asked: readonly Filter[],
  most: number,
): Statement =>
  writeOnce(
    path,
    'count covered',
    [...valuesOf(asked), ...valuesOf(path.bounds), most + 1, most],
    (bind, where) => {
      const rows = select(collection, unordered(path), where, {
        column: () => `iif(${where(asked, askingOf(path))}, 1, 0) AS isMatch`,
        isIndexAlone: true,
      })
      const limited = `${rows} LIMIT ${bind(most + 1)} + 0`
      return `SELECT total(isMatch) FROM (${limited}) HAVING count(*) <= ${bind(most)}`
    },
  )

/** Measures the documents after a place, up to a number: their count, the last place, and their bytes. */
export const rangeStatement = (collection: string): string =>
  `SELECT count(*), max(place), total(size) FROM (
    SELECT rowid AS place, ${SIZE} AS size FROM ${sqliteDialect.table(collection)} WHERE rowid > ? ORDER BY rowid LIMIT ? + 0)`

/** Selects the documents between two places that meet a condition, or their number; the places are bound first. */
export const scanStatement = (
  collection: string,
  asked: readonly Filter[],
  column: SelectedColumn,
): Statement =>
  write((_, where) => {
    const columns = column === 'document' ? 'document' : 'count(*)'
    const table = sqliteDialect.table(collection)
    return `SELECT ${columns} FROM ${table} NOT INDEXED WHERE rowid > ? AND rowid <= ? AND ${where(asked)}`
  })
