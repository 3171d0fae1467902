import { and, conditionsOf, type FieldRef, type Filter, ID, type Scalar } from '../../../filter/filter.js'
import { type IndexUse, splitRanges, useIndex } from '../../../filter/index-order.js'
import type { IndexPlan, ListQuery } from '../../../storage.js'
import { compileCondition } from '../../sql/compile-condition.js'
import type { SqlDialect } from '../../sql/dialect.js'
import { type FilteredStatement, writeStatement } from '../../sql/statements.js'

type Query = Omit<ListQuery, 'signal'>

/** The field and the values of a list of equalities; `undefined` for another condition. */
export function readList(
  condition: Filter,
): { readonly field: FieldRef; readonly values: readonly Scalar[] } | undefined {
  if (condition.kind !== 'or' || condition.filters.length < 2) return undefined
  const [first] = condition.filters
  if (first?.kind !== 'eq') return undefined
  const { field } = first
  const values: Scalar[] = []
  for (const part of condition.filters) {
    if (part.kind !== 'eq' || part.field !== field) return undefined
    values.push(part.value)
  }
  return { field, values }
}

/** The use of an index whose ranges, one for each value of its lists, are all in the order of a query. */
function findRanges(indexes: readonly IndexPlan[], { filter, sort }: Query): IndexUse | undefined {
  const conditions = conditionsOf(filter)
  const ordered = indexes
    .map(({ fields }) => useIndex([...fields, ID], conditions, sort))
    .filter(({ rangeOrder }) => rangeOrder)
    .sort((a, b) => b.fixing.length - a.fixing.length)
  const [best] = ordered
  // One range in order needs no merge.
  if (!best || best.order || sort.length === 0) return undefined
  return splitRanges(best) && best
}

/**
 * Writes a page whose filter has lists: the first documents of each range of an index, merged. `undefined` where no index has
 * ranges in order, or they are more than `MAX_RANGES`. The text is the same for every number of values.
 */
export function mergeRanges(
  dialect: SqlDialect,
  indexes: readonly IndexPlan[],
  collection: string,
  query: Query,
): FilteredStatement | undefined {
  const { filter, sort, skip, limit } = query
  const use = limit === null ? undefined : findRanges(indexes, query)
  if (!use) return undefined
  let isExact = true
  const statement = writeStatement(dialect, (bind) => {
    const sources: string[] = []
    const where: string[] = []
    for (const condition of conditionsOf(filter)) {
      const list = use.fixing.includes(condition) ? readList(condition) : undefined
      if (list) {
        const name = `range${sources.length}`
        sources.push(`unnest(${bind([...new Set(list.values)])}) AS ${name} (value)`)
        where.push(`${dialect.value(list.field)} = ${name}.value`)
      } else {
        const compiled = compileCondition(and([condition]), dialect, bind)
        isExact &&= compiled.isExact
        where.push(compiled.sql)
      }
    }
    const order = ` ORDER BY ${sort.map(({ field, descending }) => dialect.order(field, descending)).join(', ')}`
    const [most, passed] = [bind(limit ?? 0), skip === 0 ? undefined : bind(skip)]
    const first = passed === undefined ? `(${most})::bigint` : `(${most})::bigint + (${passed})::bigint`
    const range = `SELECT ${dialect.stored} FROM ${dialect.table(collection)} WHERE ${where.join(' AND ')}${order} LIMIT ${first}`
    const page = `SELECT merged.* FROM ${sources.join(' CROSS JOIN ')} CROSS JOIN LATERAL (${range}) AS merged`
    return `${page}${order} LIMIT (${most})::bigint${passed === undefined ? '' : ` OFFSET (${passed})::bigint`}`
  })
  return isExact ? { isExact, ...statement } : undefined
}
