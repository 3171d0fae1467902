import { foldDocuments } from '../../../core/aggregates/fold.js'
import { INTERVALS } from '../../../core/aggregates/intervals.js'
import { isComparable } from '../../../core/filter/compare.js'
import { type FieldRef, type Filter, ID, isEverything, isNothing } from '../../../core/filter/filter.js'
import { whenReady } from '../../../core/promises.js'
import { endless, forEachSliced, inSlices } from '../../../core/slices.js'
import type {
  Aggregated,
  AggregateQuery,
  DecimalSum,
  GroupPart,
  Key,
  MaybePromise,
  Measure,
  PartialGroup,
  StorageAdapter,
} from '../../../core/storage.js'
import { compileCondition } from '../../sql/compile-condition.js'
import type { Bind, CompileOptions } from '../../sql/dialect.js'
import { isShort } from '../../sql/read/is-short.js'
import type { FilteredStatement } from '../../sql/statements.js'
import type { RunStatement } from '../connection/session.js'
import { inTransaction } from '../connection/transaction.js'
import { elementsAt, jsonAt, typed, valueOfElement } from '../values.js'
import { FEW, findOptions, type ReadSource, read, readInCore } from './reads.js'

/** The number of groups that are fetched together. */
const BATCH = 500

/** With this setting, a double as text has all its digits. The host's setting could be another one. */
const ALL_DIGITS = 'SET LOCAL extra_float_digits = 1'

const BEGIN = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'

/** Creates the method that groups documents. */
export function createAggregate(source: ReadSource): Required<Pick<StorageAdapter, 'aggregate'>> {
  const { engine, use, indexesOf } = source
  const { dialect, statements } = engine
  const findManner = (collection: string, query: AggregateQuery) =>
    isShort(indexesOf(collection), { ...query, sort: [], skip: 0, limit: null })
      ? { mayBeLong: false }
      : findOptions(source, { collection, ...query }, query, FEW.counted)
  return {
    async aggregate(collection, query) {
      if (isNothing(query.filter)) return { groups: [], isCut: false }
      const texts = await read(async (options) => {
        const manner = await findManner(collection, query)
        const statement = writeGroups(source, collection, query, options)
        if (statement.isExact) {
          const first = manner.mayBeLong ? writeFirst(source, collection, query, options) : undefined
          return use(({ run }) => readGroups(run, { first, statement }, query), query, manner)
        }
        const whole = { filter: query.filter, sort: [], skip: 0, limit: null }
        const reading = {
          table: dialect.table(collection),
          page: statements.page(collection, whole, options),
          filter: query.filter,
          caller: query,
        }
        return use(
          async ({ run }) => {
            const fold = foldDocuments(query)
            await readInCore(run, reading, (document) => fold.add(document, endless()))
            return fold.finish()
          },
          query,
          manner,
        )
      })
      return 'groups' in texts ? texts : parseGroups(texts, query)
    },
  }
}

/** The JSON texts of groups, and whether there are more. */
interface GroupTexts {
  readonly texts: readonly string[]
  readonly isCut: boolean
}

/** The statement of all groups, and one of the groups of some documents. */
interface GroupStatements {
  readonly statement: FilteredStatement
  readonly first: (FilteredStatement & { readonly documents: number }) | undefined
}

/**
 * Reads groups until there are more than the query allows. PostgreSQL groups all documents before it returns a group,
 * so the groups of some documents are read first: often these are too many already, or there are no other documents.
 */
const readGroups = (
  run: RunStatement,
  { first, statement }: GroupStatements,
  query: AggregateQuery,
): Promise<GroupTexts> =>
  inTransaction(
    run,
    BEGIN,
    async () => {
      await run(ALL_DIGITS)
      if (first) {
        const { documents, ...found } = await fetchGroups(run, first, query)
        if (found.isCut || documents < first.documents) return found
        await run('CLOSE found')
      }
      return fetchGroups(run, statement, query)
    },
    () => false,
  )

async function fetchGroups(
  run: RunStatement,
  { text, values }: FilteredStatement,
  { limit, characters }: AggregateQuery,
): Promise<GroupTexts & { readonly documents: number }> {
  await run(`DECLARE found NO SCROLL CURSOR FOR ${text}`, values)
  const texts: string[] = []
  let [length, documents] = [0, 0]
  for (;;) {
    const { rows } = await run(`FETCH ${BATCH} FROM found`)
    for (const row of rows) {
      texts.push(String(row.found))
      length += Number(row.characters)
      documents += Number(row.documents)
    }
    if (texts.length > limit || length > characters) return { texts, documents, isCut: true }
    if (rows.length < BATCH) return { texts, documents, isCut: false }
  }
}

/** A group as its statement writes it. */
type GroupRow = readonly [key: Key[], count: number, measures: MeasureRow[]]

/** A sum with its number of values, a minimum and a maximum. A sum is text, because a double has too few digits. */
type MeasureRow = readonly [sum: string | null, values: number | null, min: Key, max: Key]

const parseGroups = ({ texts, isCut }: GroupTexts, query: AggregateQuery): MaybePromise<Aggregated> =>
  inSlices(
    (slices) => {
      const groups: PartialGroup[] = []
      const parsing = forEachSliced(slices, texts, (text) => {
        slices.left -= STEPS + text.length / CHARACTERS
        groups.push(parseGroup(text, query))
      })
      return whenReady(parsing, () => ({ groups, isCut }))
    },
    () => query.signal,
  )

/** The steps that a group costs, and the characters of its text that cost one more. */
const [STEPS, CHARACTERS] = [20, 6]

function parseGroup(text: string, { by, measures }: AggregateQuery): PartialGroup {
  const [key, count, rows] = JSON.parse(text) as GroupRow
  const sumOf = ([sum, values]: MeasureRow, i: number): DecimalSum | null =>
    measures[i]?.takes.includes('sum') ? { decimal: sum ?? '0', values: Number(values) } : null
  return {
    // The keys of edges are their places, counted from 1.
    key: by.map(({ cut }, i) => {
      const value = key[i] ?? null
      return typeof cut === 'object' ? (cut[Number(value) - 1] ?? null) : value
    }),
    count,
    sums: rows.map(sumOf),
    min: rows.map(([, , min]) => min),
    max: rows.map(([, , , max]) => max),
  }
}

/** The documents that are grouped first, for each group that the query allows. */
const FIRST = 2

/**
 * Builds the statement that groups some documents; `undefined` if these groups could not tell anything: without a key,
 * or if the documents of groups are not all documents, as with the elements of arrays.
 */
function writeFirst(
  source: ReadSource,
  collection: string,
  query: AggregateQuery,
  options: CompileOptions,
): GroupStatements['first'] {
  if (query.by.length === 0 || query.by.some(({ field }) => field.each)) return undefined
  const documents = FIRST * (query.limit + 1)
  return { ...writeGroups(source, collection, query, { ...options, documents }), documents }
}

/**
 * Builds the statement that groups documents: all that match, or at most `documents` of them. It is not exact if a
 * pattern must be evaluated by this process.
 */
function writeGroups(
  { engine: { dialect, statements } }: ReadSource,
  collection: string,
  query: AggregateQuery,
  { documents, ...options }: CompileOptions & { readonly documents?: number },
): FilteredStatement {
  const { by, measures } = query
  let isExact = true
  const shownIn = (filter: Filter, bind: Bind): string => {
    const condition = compileCondition(filter, dialect, bind, options)
    isExact &&= condition.isExact
    return condition.sql
  }
  const columns = nameColumns(query)
  const statement = statements.select(collection, query.filter, options, (from, bind) => {
    const keys = by.map(
      (part, i) => `${writeKey(part, columns, (filter) => shownIn(filter, bind), bind)} AS k${i}`,
    )
    const values = measures.flatMap((measure, i) => {
      const shown = isEverything(measure.shown) ? undefined : shownIn(measure.shown, bind)
      return writeValues(measure, columns, shown).map(([name, sql]) => `${sql} AS ${name}${i}`)
    })
    const arrays = by.flatMap((part) =>
      part.field.each ? writeElements(part, (filter) => shownIn(filter, bind)) : [],
    )
    const some = documents === undefined ? ONCE : dialect.limit(0, documents, bind)
    const found = `SELECT ${['_id, document', ...columns.values].join(', ')} ${from}${some}`
    const numbered =
      columns.numbers.length === 0
        ? found
        : `SELECT *, ${columns.numbers.join(', ')} FROM (${found}) AS found${ONCE}`
    const selected = [...keys, ...values].join(', ') || '1 AS one'
    const rows = `SELECT ${selected} FROM (${numbered}) AS found${arrays.join('')}${ONCE}`
    const key = by.map((_, i) => `k${i}`)
    const characters = by.flatMap(({ field, cut }, i) =>
      isText(field) && typeof cut !== 'object' ? `coalesce(length(k${i}), 0)` : [],
    )
    const columnsOfGroup = [
      `json_build_array(json_build_array(${key.join(', ')}), count(*), json_build_array(${measures.map(writeMeasure).join(', ')}))::text AS found`,
      `${characters.join(' + ') || '0'} AS characters`,
      'count(*) AS documents',
    ]
    const groupBy = key.length === 0 ? '' : ` GROUP BY ${key.join(', ')}`
    return `SELECT ${columnsOfGroup.join(', ')} FROM (${rows}) AS rows${groupBy}${dialect.limit(0, query.limit + 1, bind)}`
  })
  return { ...statement, isExact: statement.isExact && isExact }
}

const isText = ({ type }: FieldRef): boolean => type === 'string' || type === 'timestamp'

/** Gives a text the order of code points, whatever the database's own order is. */
const collated = (field: FieldRef, sql: string): string => (isText(field) ? `(${sql}) COLLATE "C"` : sql)

/**
 * Ends a subquery whose columns are evaluated once for each row. Without it, PostgreSQL would evaluate an expression as
 * often as the enclosing query names its column, and each time search the document again.
 */
const ONCE = ' OFFSET 0'

/** The columns with the values of documents, which the expressions of keys and measures name. */
interface ValueColumns {
  /** Columns with the `jsonb` of a field. */
  readonly values: readonly string[]
  /** Columns with a number of the `jsonb`, which is NULL if it is no number. */
  readonly numbers: readonly string[]
  /** Builds the expression of the value of a field. */
  readonly readValue: (field: FieldRef) => string
  /** Returns the name of the column with the number of a field that a measure sums. */
  readonly readNumber: (field: FieldRef) => string
}

/** Names the columns for the fields of a query: one for each path. */
function nameColumns({ by, measures }: AggregateQuery): ValueColumns {
  const fields = [...by, ...measures].map(({ field }) => field)
  const paths = [...new Set(fields.filter(({ each }) => !each).map(({ path }) => path))]
  const summed = measures.filter(({ takes }) => takes.includes('sum'))
  const places = [...new Set(summed.map(({ field }) => paths.indexOf(field.path)))]
  const placeOf = ({ path }: FieldRef): number => paths.indexOf(path)
  return {
    values: paths.map((path, i) => `${jsonAt(path)} AS j${i}`),
    numbers: places.map((i) => `CASE jsonb_typeof(j${i}) WHEN 'number' THEN j${i}::numeric END AS d${i}`),
    readValue: (field) => (field.path === ID.path ? '_id' : typed(field.type, `j${placeOf(field)}`)),
    readNumber: (field) => `d${placeOf(field)}`,
  }
}

/** Builds the expression of a part of the key. The key of edges is the place of the edge. */
function writeKey(
  { field, shown, cut }: GroupPart,
  { readValue }: ValueColumns,
  shownIn: (filter: Filter) => string,
  bind: Bind,
): string {
  // The condition `shown` of an array decides about the rows of its elements.
  if (field.each) return collated(field, 'keys.value')
  const value = collated(field, readValue(field))
  const cutValue = (): string => {
    if (cut === 'value') return value
    if (typeof cut === 'object') return `nullif(width_bucket(${value}, ${bind(cut)}), 0)`
    const [length, rest] = INTERVALS[cut]
    return collated(field, `left(${value}, ${length}) || '${rest}'`)
  }
  return isEverything(shown) ? cutValue() : `CASE WHEN ${shownIn(shown)} THEN ${cutValue()} END`
}

/** Builds the join with the distinct elements of an array: one row that is NULL if the array is missing or hidden. */
function writeElements({ field, shown }: GroupPart, shownIn: (filter: Filter) => string): string {
  const isArray = `coalesce(jsonb_typeof(${jsonAt(field.path)}), 'null') = 'array'`
  const isThere = isEverything(shown) ? isArray : `((${shownIn(shown)}) IS TRUE AND ${isArray})`
  const value = collated(field, valueOfElement(field))
  const elements = `SELECT DISTINCT value FROM (SELECT ${value} AS value FROM ${elementsAt(field.path)}) AS each WHERE value IS NOT NULL AND ${isThere}`
  return ` CROSS JOIN LATERAL (${elements} UNION ALL SELECT NULL WHERE NOT ${isThere}) AS keys(value)`
}

/** The decimals of at most this many digits before and after the point are those that JSON shows. */
const PLAIN = { whole: 1e9, places: 6 }

/**
 * Builds the columns of a measure: the number of a sum, which JSON shows for the nearest double, and the value of a
 * minimum and a maximum.
 */
function writeValues(
  { field, takes }: Measure,
  { readValue, readNumber }: ValueColumns,
  shown: string | undefined,
): readonly (readonly [name: 'n' | 'v', sql: string])[] {
  const when = (sql: string): string => (shown === undefined ? sql : `CASE WHEN ${shown} THEN ${sql} END`)
  if (!isComparable(field.type)) throw new Error(`a measure cannot be of type ${field.type}`)
  const columns: [name: 'n' | 'v', sql: string][] = []
  if (takes.includes('sum')) {
    const number = readNumber(field)
    const double = `${number}::float8`
    const whole = (sql: string, result: string): string =>
      field.type === 'integer' ? `CASE WHEN trunc(${sql}) = ${sql} THEN ${result} END` : result
    const isPlain = `scale(${number}) <= ${PLAIN.places} AND ${number} > -${PLAIN.whole} AND ${number} < ${PLAIN.whole}`
    columns.push([
      'n',
      when(
        `CASE WHEN ${isPlain} THEN ${whole(number, number)} ELSE ${whole(double, `${double}::text::numeric`)} END`,
      ),
    ])
  }
  if (takes.some((take) => take !== 'sum')) columns.push(['v', when(collated(field, readValue(field)))])
  return columns
}

/** Builds the JSON of a measure in a group. Booleans have no minimum of their own in PostgreSQL. */
function writeMeasure({ field, takes }: Measure, i: number): string {
  const [least, greatest] = field.type === 'boolean' ? ['bool_and', 'bool_or'] : ['min', 'max']
  const take = (summary: 'min' | 'max', aggregate: string): string =>
    takes.includes(summary) ? `${aggregate}(v${i})` : 'NULL'
  const sum = takes.includes('sum') ? `sum(n${i})::text, count(n${i})` : 'NULL, NULL'
  return `json_build_array(${sum}, ${take('min', least)}, ${take('max', greatest)})`
}
