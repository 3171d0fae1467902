import {
  conditionsOf,
  type FieldRef,
  type Filter,
  ID,
  type ListedValues,
  readEqualities,
} from '../../../core/filter/filter.js'
import {
  type Alternative,
  type IndexUse,
  MAX_RANGES,
  splitAlternatives,
  splitRanges,
  useIndex,
} from '../../../core/filter/index-order.js'
import type { IndexPlan, ListQuery } from '../../../core/storage.js'
import { compileCondition } from '../../sql/compile-condition.js'
import type { Bind, SqlDialect } from '../../sql/dialect.js'
import { type FilteredStatement, writeOrder, writeStatement } from '../../sql/statements.js'
import { isOfElements } from '../../sql/structures.js'
import { boundsOf, type Entries, entriesOf, usableFor } from './entries.js'

type RangedQuery = Omit<ListQuery, 'signal'>

/**
 * Returns the field and the values of a list of equalities (alternatives on one field), or `undefined` for any other
 * condition.
 */
export const readList = (condition: Filter): ListedValues | undefined =>
  condition.kind === 'or' && condition.filters.length > 1 ? readEqualities(condition) : undefined

/** A part of a merge. It yields all matches of one alternative or of the whole filter. */
interface RangeAlternative extends Alternative {
  /**
   * How the part uses an index whose ranges are in the order of the page; `undefined` if PostgreSQL chooses the plan.
   */
  readonly use: IndexUse | undefined
  /** The index if it is an index of elements. */
  readonly index: IndexPlan | undefined
}

/**
 * Finds an index for a part, with ranges in the order of the page. If there is none, PostgreSQL chooses the plan of the
 * part. Returns `undefined` if the part's own conditions bound the range of no index.
 */
function findPart(
  indexes: readonly IndexPlan[],
  { all, own }: Alternative,
  sort: ListQuery['sort'],
): RangeAlternative | undefined {
  const uses = indexes
    .flatMap((index) => {
      const use = useIndex([...index.fields, ID], all, sort)
      return use ? { use, index: isOfElements(index) ? index : undefined } : []
    })
    .filter(({ use }) => boundsOf(use).some((bound) => own.includes(bound)))
    .sort((a, b) => b.use.fixing.length - a.use.fixing.length || (a.index ? 0 : 1) - (b.index ? 0 : 1))
  if (uses.length === 0) return undefined
  const { use, index } = uses.find(({ use }) => use.rangeOrder) ?? {}
  return { all, own, use, index }
}

/**
 * Returns the parts of a page that are read separately and then merged: the ranges of one index, or the matches of
 * each alternative. Returns `undefined` if the page is read as a whole.
 */
function findParts(
  indexes: readonly IndexPlan[],
  { filter, sort }: RangedQuery,
): readonly RangeAlternative[] | undefined {
  const conditions = conditionsOf(filter)
  if (sort.length === 0) return undefined
  const whole = findPart(indexes, { all: conditions, own: conditions }, sort)
  const use = whole?.use
  if (whole && use && (!use.order || whole.index)) return splitRanges(use) && [whole]
  // One range in order needs no merge.
  if (use && conditions.every((condition) => boundsOf(use).includes(condition))) return undefined
  for (const alternatives of splitAlternatives(conditions)) {
    const parts = alternatives.flatMap((one) => findPart(indexes, one, sort) ?? [])
    const ranges = parts.reduce((total, part) => total + countRanges(part), 0)
    if (parts.length === alternatives.length && ranges <= MAX_RANGES) return parts
  }
  // Without a merge, PostgreSQL would find all ids in the table of elements first, and sort all matches.
  return whole && use && indexes.some(isOfElements) ? [whole] : undefined
}

const countRanges = ({ use }: RangeAlternative): number =>
  use ? (splitRanges(use)?.length ?? MAX_RANGES + 1) : 1

/** A condition whose values are already bound. */
interface WritableCondition {
  readonly condition: Filter
  readonly isExact: boolean
  readonly write: (dialect: SqlDialect) => string
  /** The parameter with the values of a list of equalities, if each value can be read as a range. */
  readonly values?: string
}

/**
 * Builds the statement for a page whose filter has lists of equalities or other alternatives. It reads the first
 * documents of each range of an index and merges them, so that each document occurs once. Returns `undefined` if no
 * index has ranges in the order of the page, or if there are more than `MAX_RANGES` ranges. The text does not depend on
 * the number of values, which are bound in the order of the conditions.
 */
export function mergeRanges(
  dialect: SqlDialect,
  indexes: readonly IndexPlan[],
  collection: string,
  query: RangedQuery,
): FilteredStatement | undefined {
  const parts = query.limit === null ? undefined : findParts(usableFor(indexes, query.filter), query)
  if (!parts || parts.length === 0) return undefined
  let isExact = true
  const statement = writeStatement(dialect, (bind) => {
    const merged = writeMerged({ dialect, collection, bind }, parts, query)
    isExact = merged.isExact
    return merged.text
  })
  return isExact ? { isExact, ...statement } : undefined
}

/** The context in which a merge is built. */
interface MergeStatement {
  readonly dialect: SqlDialect
  readonly collection: string
  readonly bind: Bind
}

function writeMerged(
  { dialect, collection, bind }: MergeStatement,
  parts: readonly RangeAlternative[],
  { filter, sort, skip, limit }: RangedQuery,
): { readonly text: string; readonly isExact: boolean } {
  const conditions = conditionsOf(filter)
  const fixing = new Set(parts.flatMap(({ use }) => use?.fixing ?? []))
  const write = (condition: Filter): WritableCondition =>
    (fixing.has(condition) && bindList(bind, condition)) || bindValues(dialect, bind, condition)
  // The index of the condition with the alternatives.
  const place =
    parts.length > 1 ? conditions.findIndex((one) => !parts[0]?.all.includes(one)) : conditions.length
  const before = conditions.slice(0, place).map(write)
  const own = parts.length > 1 ? parts.map((part) => part.own.map(write)) : [[]]
  const after = conditions.slice(place + 1).map(write)
  const isExact = [...before, ...own.flat(), ...after].every((one) => one.isExact)

  const [most, passed] = [bind(limit ?? 0), skip === 0 ? undefined : bind(skip)]
  const enough = passed === undefined ? `(${most})::bigint` : `(${most})::bigint + (${passed})::bigint`
  const page = { dialect, collection, sort, enough }
  const rows = parts.map((part, i) => writeRange(page, part, [...before, ...(own[i] ?? []), ...after]))
  const end = ` LIMIT (${most})::bigint${passed === undefined ? '' : ` OFFSET (${passed})::bigint`}`
  const [row] = rows
  const isOne = rows.length === 1 && !parts[0]?.use?.overlaps
  if (row && isOne && row.sources === '') return { text: `${row.range}${end}`, isExact }
  const all = rows.map(({ range, sources }) =>
    sources === ''
      ? `(${range} LIMIT ${enough})`
      : `SELECT merged.* FROM ${sources} CROSS JOIN LATERAL (${range} LIMIT ${enough}) AS merged`,
  )
  const keys = sort.map(({ field }) => dialect.value(field))
  // Duplicates are removed, because a document may be in several ranges.
  const merged = isOne
    ? all.join()
    : `SELECT DISTINCT ON (${keys.join(', ')}) merged.* FROM (${all.join(' UNION ALL ')}) AS merged`
  return { text: `${merged}${writeOrder(dialect, sort)}${end}`, isExact }
}

/** Binds the values of a list of equalities as one array. Returns `undefined` for any other condition. */
function bindList(bind: Bind, condition: Filter): WritableCondition | undefined {
  const list = readList(condition)
  if (!list) return undefined
  const values = bind([...new Set(list.values)])
  return {
    condition,
    isExact: true,
    write: (target) =>
      compare(target, list.field, (value) => target.isOneOf(value, list.values, () => values)),
    values,
  }
}

function bindValues(dialect: SqlDialect, bind: Bind, condition: Filter): WritableCondition {
  const places: string[] = []
  const { isExact } = compileCondition(condition, dialect, (value) => {
    const place = bind(value)
    places.push(place)
    return place
  })
  return {
    condition,
    isExact,
    write(target) {
      const left = places.values()
      return compileCondition(condition, target, () => left.next().value ?? '').sql
    },
  }
}

/** The page to which a range belongs. */
interface MergedPage {
  readonly dialect: SqlDialect
  readonly collection: string
  readonly sort: ListQuery['sort']
  /** An SQL expression for the maximum number of documents that a range contributes. */
  readonly enough: string
}

/**
 * Builds the statement `range`, which selects the documents of a part for one value of each list. `sources` are the
 * FROM items that provide these values; empty if the part has no lists.
 */
function writeRange(
  { dialect, collection, sort, enough }: MergedPage,
  { use, index }: RangeAlternative,
  conditions: readonly WritableCondition[],
): { readonly range: string; readonly sources: string } {
  const entries = index && entriesOf(dialect, collection, index)
  const sources: string[] = []
  const [onEntries, onDocuments]: [string[], string[]] = [[], []]
  for (const { condition, write, values } of conditions) {
    const isBound = use?.fixing.includes(condition)
    const isOnEntries = entries !== undefined && (isBound || entries.decides(condition))
    const target = isOnEntries ? entries.dialect : dialect
    const list = values !== undefined && isBound && readList(condition)
    const name = `range${sources.length}`
    if (list) sources.push(`unnest(${values}) AS ${name} (value)`)
    const sql = list ? compare(target, list.field, (value) => `${value} = ${name}.value`) : write(target)
    ;(isOnEntries ? onEntries : onDocuments).push(sql)
  }
  const order = writeOrder(entries?.dialect ?? dialect, sort)
  const table = dialect.table(collection)
  const from = entries
    ? writeJoined(entries, table, onEntries, onDocuments.length === 0 ? `${order} LIMIT ${enough}` : '')
    : table
  const where = onDocuments.length > 0 ? ` WHERE ${onDocuments.join(' AND ')}` : ''
  const range = `SELECT _id, document FROM ${from}${where}${order}`
  return { range, sources: sources.join(' CROSS JOIN ') }
}

/** Builds a condition on the value of a field or, if the field has `each`, on any element of its array. */
const compare = (dialect: SqlDialect, field: FieldRef, condition: (value: string) => string): string =>
  field.each ? dialect.hasElement(field, condition) : condition(dialect.value(field))

/**
 * Joins entries with their documents. `end` is the ORDER BY and the LIMIT if there are no conditions on the documents.
 * They are applied before the join, so that only the documents of the page are read, however many entries match.
 */
const writeJoined = (
  { source, joined }: Entries,
  table: string,
  conditions: readonly string[],
  end: string,
): string =>
  `(SELECT * FROM ${source} WHERE ${conditions.join(' AND ')}${end}) AS entry JOIN ${table} ON ${joined}`
