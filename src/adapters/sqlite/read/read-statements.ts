import { bounds } from '../../../core/bounds.js'
import { and, type FieldRef, type Filter, ID } from '../../../core/filter/filter.js'
import { isOn } from '../../../core/filter/index-order.js'
import { type Equalities, joinEqualities } from '../../../core/filter/join-equalities.js'
import { CACHES } from '../../../core/kept/caches.js'
import type { Slice } from '../../../core/slices.js'
import { compileCondition } from '../../sql/compile-condition.js'
import { type Bind, quoteName, type SqlDialect, type Statement, type Value } from '../../sql/dialect.js'
import { writeStatement } from '../../sql/statements.js'
import type { Seat } from '../connection/snapshot.js'
import { columnOf } from '../elements.js'
import { idOfLacking, sqliteDialect, writeBounds, writeColumns, writeIdAs } from '../sqlite-dialect.js'
import type { CollectionPath, ReadPath } from './read-path.js'

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
type SelectedColumn = 'document' | 'match'

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
interface Literal {
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

/** Documents that may match, one after another. */
export interface CandidateCursor {
  /**
   * The text of the next document; or a number of documents that were only counted, perhaps zero, when the slice is
   * used up or a piece of the collection ends; `undefined` at the end.
   */
  next(slice: Slice): string | number | undefined
  close(): void
}

/** The steps of a statement per row, per condition on a row, and per kilobyte. */
const ROW = 25
const CONDITION = 10
const KILOBYTE = 80

/** The most conditions in a statement; with more, the core is faster. */
const MAX_CONDITIONS = 8

/** The cost of a condition in a statement, relative to a condition on one field; patterns are left to the core. */
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

/** Conditions, divided between the statement and the core. */
interface Division {
  readonly asked: readonly Filter[]
  readonly judged: readonly Filter[]
  readonly weight: number
}

/**
 * Divides conditions between the statement and the core. The core evaluates all conditions from the first one that
 * the statement cannot: a rule that hides documents precedes the caller's conditions, even if it has a pattern.
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
 * Finds the documents on a path that meet the conditions of the statement. Each range has its own conditions; a
 * document in several ranges can come several times.
 */
export function findCandidates(
  seat: Seat,
  { collection, path }: CollectionPath,
  { isCounting }: { readonly isCounting: boolean },
): CandidateCursor {
  const ranges = path.ranges ?? [path]
  const divisions = new Map(ranges.map((range) => [range, divide(range.rest)]))
  const column: SelectedColumn = isCounting ? 'match' : 'document'
  const weight = Math.max(...[...divisions.values()].map(({ weight }) => weight))
  const cost = ROW + weight * CONDITION
  const askedOf = (range: ReadPath): Prefilter => {
    const { asked, judged } = divisions.get(range) ?? divide(range.rest)
    return { conditions: asked, literal: literalOf(judged[0]) }
  }
  return path.index === null
    ? scan(seat, collection, scanStatement(collection, divide(path.rest).asked, column), cost)
    : walk(seat, walkStatement(collection, path, askedOf, column), cost)
}

/** The text that a pattern requires in a field; the core evaluates the whole pattern afterwards. */
function literalOf(filter: Filter | undefined): Literal | undefined {
  if (filter?.kind !== 'match' || filter.field.each || filter.field.type !== 'string') return undefined
  const parts = filter.pattern.kind === 'sequence' ? filter.pattern.parts : [filter.pattern]
  const texts = parts.flatMap((part) => (part.kind === 'text' ? part.text : []))
  const [longest] = texts.toSorted((a, b) => b.length - a.length)
  // Half a surrogate pair is another character in UTF-8.
  return longest === undefined || /[\p{Surrogate}\0]/u.test(longest) || longest === ''
    ? undefined
    : { field: filter.field, text: longest }
}

/** The steps of reading this many bytes of documents. */
export const costOf = (bytes: number): number => (bytes / 1024) * KILOBYTE

/** Follows an index, row by row. */
function walk(seat: Seat, { text, values }: Statement, cost: number): CandidateCursor {
  let passed = 0
  let rows: IterableIterator<unknown> | undefined
  // On another connection with the same snapshot, the rows are the same, in the same order.
  const open = (): IterableIterator<unknown> =>
    passed === 0
      ? seat.connection.iterate(text, values)
      : seat.connection.iterate(`${text} LIMIT -1 OFFSET ? + 0`, [...values, passed])
  const close = (): void => {
    rows?.return?.()
    rows = undefined
  }
  seat.leave = close
  return {
    next(slice) {
      let counted = 0
      while (slice.left > 0) {
        rows ??= open()
        const { done, value } = rows.next()
        if (done) return counted > 0 ? counted : undefined
        passed += 1
        const isText = typeof value === 'string'
        const size = isText ? value.length : Number(value)
        slice.left -= cost + costOf(Math.abs(size))
        if (isText) return value
        if (size < 0) counted += 1
      }
      return counted
    },
    close,
  }
}

/** The number of documents in a piece of a collection. */
const MIN_ROWS = 32
const MAX_ROWS = 512

/** Scans a collection in its stored order, in pieces that take about the same time. */
function scan(seat: Seat, collection: string, { text, values }: Statement, cost: number): CandidateCursor {
  const range = rangeStatement(collection)
  let place = 0
  let size = MIN_ROWS
  let found: readonly unknown[] = []
  let given = 0

  /** The number of documents in the next piece, its last place, and its bytes. */
  const measure = (): readonly [count: number, end: number, bytes: number] => {
    for (;;) {
      const [count, end, bytes] = seat.connection.row(range, [place, size]).map(Number) as [
        number,
        number,
        number,
      ]
      if (count <= 1 || bytes <= bounds.scannedBytes) return [count, end, bytes]
      size = Math.max(1, Math.min(count - 1, Math.floor((count * bounds.scannedBytes) / bytes)))
    }
  }
  return {
    next(slice) {
      for (;;) {
        if (given < found.length) {
          const one = found[given++]
          return typeof one === 'string' ? one : Number(one)
        }
        if (slice.left <= 0) return 0
        const [count, end, bytes] = measure()
        if (count === 0) return undefined
        slice.left -= count * cost + costOf(bytes)
        found = seat.connection.all(text, [place, end, ...values])
        given = 0
        place = end
        size = Math.min(MAX_ROWS, size * 2)
      }
    },
    close() {},
  }
}
