import { bounds } from '../../../core/bounds.js'
import { and, type FieldRef, type Filter, ID, isOn } from '../../../core/filter/filter.js'
import { type Equalities, joinEqualities } from '../../../core/filter/join-equalities.js'
import { CACHES } from '../../../core/kept/caches.js'
import { compileCondition } from '../../sql/compile-condition.js'
import { type Bind, quoteName, type SqlDialect, type Statement, type Value } from '../../sql/dialect.js'
import { writeStatement } from '../../sql/statements.js'
import type { Seat } from '../connection/readers.js'
import { columnOf } from '../elements.js'
import { idOfLacking, sqliteDialect, writeColumns, writeIdAs } from '../sqlite-dialect.js'
import type { CollectionPath, ReadPath } from './read-path.js'

/** Builds the SQL of a statement. `bind` must be called in the order in which the placeholders appear. */
type StatementText = (
  bind: Bind,
  where: (filters: readonly Filter[], dialect?: SqlDialect) => string,
) => string

const write = (text: StatementText): Statement =>
  writeStatement(sqliteDialect, (bind) =>
    text(bind, (filters, dialect = sqliteDialect) => compileCondition(and(filters), dialect, bind).sql),
  )

/** Builds a statement. If the path caches SQL, the SQL is built only once and reused for all values. */
function writeOnce(path: ReadPath, name: string, values: readonly Value[], text: StatementText): Statement {
  if (!CACHES.statements.isOn || !path.texts) return write(text)
  const known = path.texts.get(name) ?? write(text).text
  path.texts.set(name, known)
  return { text: known, values }
}

/**
 * Returns the values that conditions bind, in the order in which `compileCondition` binds them. Each value must be
 * possible for the type of its field.
 */
const valuesOf = (filters: readonly (Filter | Equalities)[]): readonly Value[] =>
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
 * Returns the FROM clause, which makes SQLite use the index of the path. The WHERE clause must contain only conditions
 * that the index can answer. An index of elements is joined with the documents unless it contains all selected columns.
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
  /** The SQL of the selected column, or the field that is selected. */
  readonly column: ((range: ReadPath) => string) | FieldRef
  readonly join?: string
  /** Whether the index of elements contains all selected columns. */
  readonly isIndexAlone?: boolean
}

/** How the statement for a range of an index is built. */
interface RangeText {
  /** The dialect for the bounds and sort keys of the range. */
  readonly dialect: SqlDialect
  /** The dialect for a selected field. */
  readonly selecting: SqlDialect
  /** A further condition that limits the range to one row, or an empty string. */
  readonly bound: string
}

/**
 * Returns the dialect for bounds on a table of array elements. Each row has only one element, so a condition on any
 * element of the array becomes a condition on the element's column.
 */
function writeBounds(columns: readonly FieldRef[]): SqlDialect {
  const dialect = writeColumns(columns)
  return {
    ...dialect,
    hasElement(field, condition) {
      const column = columnOf(columns, field)
      return column === undefined ? dialect.hasElement(field, condition) : condition(column)
    },
  }
}

/**
 * Returns how the statement for a range is built. A unique index is sorted by its fields and then by an expression that
 * is the `_id` only if a field is missing. A merge compares rows of several ranges, so it needs the real `_id`. If all
 * fields are fixed to values, the range has only one row. Otherwise SQLite itself sorts rows with equal fields, which
 * are the few documents that lack a field.
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
 * Selects a column of the rows of a path, in its order. The path is one range, or several ranges that are merged. A
 * merge also selects the sort keys as further columns.
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
  // If the selected column is also a sort key, it is selected only once, because SQLite would sort again by a second
  // column.
  const isColumn = (field: FieldRef): boolean => typeof column === 'object' && isOn(field, column)
  const further = order.flatMap(({ field }) => (isColumn(field) ? [] : [field]))
  const rows = ranges.map((range) => rowsOf(range, further))
  const places = order.map(({ field, descending }) => {
    const place = isColumn(field) ? 1 : further.indexOf(field) + 2
    return `${place}${descending ? ' DESC' : ''}`
  })
  return `${rows.join(` ${join} `)}${places.length === 0 ? '' : ` ORDER BY ${places.join(', ')}`}`
}

/**
 * Returns the operator that joins ranges. `UNION` selects a document only once although it is in several ranges,
 * provided that all selected columns are equal there.
 */
const joinOf = ({ isOverlapping }: ReadPath): string => (isOverlapping ? 'UNION' : 'UNION ALL')

/** An expression of text for a part of each match, and the values of its placeholders. */
export type PartColumn = Statement

/** The value that is selected for each match: its JSON text or a part of it, or only the fact that it matches. */
export type SelectedColumn = 'document' | 'match' | PartColumn

const SIZE = 'octet_length(document)'

/**
 * Conditions that the statement checks for each row of a range. If the index contains all their fields, they are
 * checked before the document is read.
 */
export interface Prefilter {
  readonly conditions: readonly Filter[]
  /** The string that a field must contain to satisfy the first of the conditions that JavaScript checks. */
  readonly literal?: Literal | undefined
}

/** A field, and a string that it must contain. */
interface Literal {
  readonly field: FieldRef
  readonly text: string
}

/** Returns the dialect for conditions on the rows of a range. */
const askingOf = ({ table, columns }: ReadPath): SqlDialect =>
  table === undefined ? sqliteDialect : writeColumns(columns)

/**
 * Whether the index of a range contains all fields of the conditions. A condition on array elements never counts as
 * contained, because a row of a table of array elements contains only one element.
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
 * Selects one value for every document of a path, in order. For `document`, the value is the JSON text if the document
 * satisfies the conditions of its range, and otherwise the document's size. For `match`, the value is the size, negated
 * if the document satisfies the conditions. If the index alone answers, 0 (or −1) replaces the size. A document in
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
    ...(typeof column === 'object' ? column.values : []),
    ...valuesOf(bounds),
  ])
  const hasLiteral = [...asked.values()].map(({ literal }) => (literal ? 1 : 0)).join('')
  const name = typeof column === 'object' ? column.text : column
  return writeOnce(path, `${name}${hasLiteral}`, values, (bind, where) =>
    select(collection, path, where, {
      column(range) {
        const { conditions, literal } = asked.get(range) ?? { conditions: [] }
        const size = !literal && isCovered(range, conditions) ? '0' : SIZE
        const writeFound = (): string => {
          if (typeof column === 'object') return bindPart(column, bind)
          return column === 'document' ? 'document' : size === '0' ? '-1' : `-${SIZE}`
        }
        if (conditions.length === 0 && !literal) return writeFound()
        // The parts are written in this order, because placeholders must be bound in the order of the SQL.
        const holds = where(conditions, askingOf(range))
        const contains = literal
          ? ` AND instr(${sqliteDialect.value(literal.field)}, ${bind(literal.text)}) > 0`
          : ''
        return `iif(${holds}${contains}, ${writeFound()}, ${size})`
      },
    }),
  )
}

/**
 * Selects the documents of a path that has no remaining conditions, or NULL for a document with more than `cap` bytes.
 */
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

/** Selects the ids of the documents of a path, in order, reading only indexes. */
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
 * Selects the ids of the documents of a path, without an order, reading only indexes. The id of a document in several
 * ranges is selected several times.
 */
export const soughtStatement = (collection: string, path: ReadPath): Statement =>
  writeOnce(path, 'sought', valuesOf(boundsOf(path)), (_, where) =>
    select(collection, unordered(path), where, { column: ID, isIndexAlone: true }),
  )

/** Selects documents by their ids, without an order, or NULL for a document with more than `cap` bytes. */
export const namedStatement = (collection: string, ids: readonly unknown[], cap: number): Statement => ({
  text: `SELECT _id, iif(${SIZE} <= ?, document, NULL) FROM ${sqliteDialect.table(collection)} WHERE _id IN (SELECT value FROM json_each(?))`,
  values: [cap, JSON.stringify(ids)],
})

/** Returns a path without its order. */
const unordered = (path: ReadPath): ReadPath => ({ ...path, order: [] })

/** Selects a constant, for statements that only count rows. */
const ONE = (): string => '1'

/**
 * Counts the rows of a path, but at most `most`, reading only indexes. A document in several ranges is counted several
 * times.
 */
export const countStatement = (collection: string, path: ReadPath, most: number): Statement =>
  writeOnce(path, 'count', [...valuesOf(boundsOf(path)), most], (bind, where) => {
    const rows = select(collection, unordered(path), where, { column: ONE, isIndexAlone: true })
    return `SELECT count(*) FROM (${rows} LIMIT ${bind(most)} + 0)`
  })

/**
 * Counts all documents on a path, which is faster than counting up to a limit. The result is NULL if the collection may
 * have more than `most` documents.
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
      // Without a WHERE clause SQLite counts by pages instead of rows, which is faster.
      const from = path.index === null ? `FROM ${table}` : fromOf(collection, path, true)
      const { dialect } = textOf(path, false)
      return `SELECT count(*) ${from}${path.bounds.length === 0 ? '' : ` WHERE ${where(path.bounds, dialect)}`}`
    }
    return `SELECT iif(${isSmall}, (${count()}), NULL)`
  })

/**
 * Counts the documents of a path that satisfy conditions on fields of the index. The result is NULL if the path has
 * more than `most` rows.
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

/**
 * Measures the documents after a rowid, up to a limit: selects their number, the last rowid, and their total size in
 * bytes.
 */
export const rangeStatement = (collection: string): string =>
  `SELECT count(*), max(place), total(size) FROM (
    SELECT rowid AS place, ${SIZE} AS size FROM ${sqliteDialect.table(collection)} WHERE rowid > ? ORDER BY rowid LIMIT ? + 0)`

/** A statement for the documents between two rowids, whose values come between `before` and `after`. */
interface ScanStatement {
  readonly text: string
  readonly before: readonly Value[]
  readonly after: readonly Value[]
}

/** Selects the documents between two rowids that satisfy conditions, or counts them. */
export const scanStatement = (
  collection: string,
  asked: readonly Filter[],
  column: SelectedColumn,
): ScanStatement => {
  const before = typeof column === 'object' ? column.values : []
  const { text, values } = write((bind, where) => {
    const columns =
      typeof column === 'object' ? bindPart(column, bind) : column === 'document' ? 'document' : 'count(*)'
    const table = sqliteDialect.table(collection)
    return `SELECT ${columns} FROM ${table} NOT INDEXED WHERE rowid > ? AND rowid <= ? AND ${where(asked)}`
  })
  return { text, before, after: values.slice(before.length) }
}

/** Returns the SQL of a part. All its placeholders are `?`. */
function bindPart({ text, values }: PartColumn, bind: Bind): string {
  for (const value of values) bind(value)
  return text
}

/**
 * Documents that may match: the JSON text of each or, when the slice is used up or a piece of the collection ends, the
 * number of documents that were only counted, perhaps 0.
 */
type Candidates = Generator<string | number, void>

/** The steps that a statement costs per row, per condition on a row, and per kilobyte. */
const ROW = 25
const CONDITION = 10
const KILOBYTE = 80

/** The maximum number of conditions in a statement. If there are more, evaluating them in JavaScript is faster. */
const MAX_CONDITIONS = 8

/**
 * Returns the cost of a condition in a statement, relative to a condition on one field. Patterns are never evaluated in
 * a statement.
 */
function weigh(filter: Filter | Equalities): number {
  switch (filter.kind) {
    case 'and':
      return weighAll(filter.filters)
    case 'or':
      return weighAll(joinEqualities(filter.filters))
    case 'not':
      return weigh(filter.filter)
    case 'match':
      return Number.POSITIVE_INFINITY
    case 'one of':
    case 'present':
    case 'eq':
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
      return filter.field.each ? 3 : 1
    default:
      return filter satisfies never
  }
}

const weighAll = (filters: readonly (Filter | Equalities)[]): number =>
  filters.reduce((sum, part) => sum + weigh(part), 0)

/** Conditions, divided into those that the statement checks (`asked`) and those that JavaScript checks (`judged`). */
interface Division {
  readonly asked: readonly Filter[]
  readonly judged: readonly Filter[]
  readonly weight: number
}

/**
 * Divides conditions between the statement and JavaScript. JavaScript checks the first condition that the statement
 * cannot check and all conditions after it, so that a rule that hides documents is checked before the caller's
 * conditions, even if the rule has a pattern.
 */
export function divide(conditions: readonly Filter[]): Division {
  const asked: Filter[] = []
  const judged: Filter[] = []
  let weight = 0
  for (const condition of conditions) {
    const more = weigh(condition)
    if (judged.length === 0 && weight + more <= MAX_CONDITIONS) {
      asked.push(condition)
      weight += more
    } else judged.push(condition)
  }
  return { asked, judged, weight }
}

/**
 * Finds the documents on a path that satisfy the conditions of the statement. Each range has its own conditions. A
 * document in several ranges may be returned several times.
 */
export function findCandidates(
  seat: Seat,
  { collection, path }: CollectionPath,
  column: SelectedColumn,
): Candidates {
  const ranges = path.ranges ?? [path]
  const divisions = new Map(ranges.map((range) => [range, divide(range.rest)]))
  const weight = Math.max(...[...divisions.values()].map(({ weight }) => weight))
  const cost = ROW + weight * CONDITION
  const askedOf = (range: ReadPath): Prefilter => {
    const { asked, judged } = divisions.get(range) ?? divide(range.rest)
    return { conditions: asked, literal: literalOf(judged[0]) }
  }
  return path.index === null
    ? scan(seat, collection, scanStatement(collection, divide(path.rest).asked, column), cost)
    : readRows(seat, walkStatement(collection, path, askedOf, column), cost)
}

/** Returns a string that every match of a pattern must contain. The whole pattern is evaluated later, in JavaScript. */
function literalOf(filter: Filter | undefined): Literal | undefined {
  if (filter?.kind !== 'match' || filter.field.each || filter.field.type !== 'string') return undefined
  const parts = filter.pattern.kind === 'sequence' ? filter.pattern.parts : [filter.pattern]
  const texts = parts.flatMap((part) => (part.kind === 'text' ? part.text : []))
  const [longest] = texts.toSorted((a, b) => b.length - a.length)
  // A string with half a surrogate pair is not used, because in UTF-8 it becomes another character.
  return longest === undefined || /[\p{Surrogate}\0]/u.test(longest) || longest === ''
    ? undefined
    : { field: filter.field, text: longest }
}

/** Returns the steps that reading this many bytes of documents costs. */
export const costOf = (bytes: number): number => (bytes / 1024) * KILOBYTE

/**
 * Reads the rows of a statement without a limit one by one. Each row costs `cost` steps, and further steps for its
 * size.
 */
export function* readRows(seat: Seat, { text, values }: Statement, cost = ROW): Candidates {
  let passed = 0
  let rows: IterableIterator<unknown> | undefined
  seat.leave = () => {
    rows?.return?.()
    rows = undefined
  }
  // After a move to another connection with the same snapshot, the statement returns the same rows in the same order,
  // so the rows that were already read are skipped.
  const open = (): IterableIterator<unknown> =>
    passed === 0
      ? seat.connection.iterate(text, values)
      : seat.connection.iterate(`${text} LIMIT -1 OFFSET ? + 0`, [...values, passed])
  let counted = 0
  for (;;) {
    rows ??= open()
    const { done, value } = rows.next()
    if (done) break
    passed += 1
    const isText = typeof value === 'string'
    const size = isText ? value.length : Number(value)
    seat.slices.left -= cost + costOf(Math.abs(size))
    if (!isText && size < 0) counted += 1
    if (isText) yield value
    else if (seat.slices.left <= 0) {
      yield counted
      counted = 0
    }
  }
  if (counted > 0) yield counted
}

/**
 * The number of documents in the first piece of a scan, and the maximum number in later pieces. Pieces with large
 * documents are shorter.
 */
const MIN_ROWS = 32
const MAX_ROWS = 512

/** Scans a collection in its stored order, in pieces that each take about the same time. */
function* scan(
  seat: Seat,
  collection: string,
  { text, before, after }: ScanStatement,
  cost: number,
): Candidates {
  const range = rangeStatement(collection)
  let place = 0
  let size = MIN_ROWS
  for (;;) {
    const [count = 0, end = 0, bytes = 0] = seat.connection.row(range, [place, size]).map(Number)
    if (count === 0) return
    if (count > 1 && bytes > bounds.scannedBytes) {
      size = Math.max(1, Math.min(count - 1, Math.floor((count * bounds.scannedBytes) / bytes)))
      continue
    }
    seat.slices.left -= count * cost + costOf(bytes)
    const found = seat.connection.all(text, [...before, place, end, ...after])
    place = end
    size = Math.min(MAX_ROWS, size * 2)
    for (const one of found) yield typeof one === 'string' ? one : Number(one)
    if (seat.slices.left <= 0) yield 0
  }
}
