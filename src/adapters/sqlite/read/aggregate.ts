import { foldDocuments } from '../../../core/aggregates/fold.js'
import { conditionsOf, type Filter } from '../../../core/filter/filter.js'
import { whenReady } from '../../../core/promises.js'
import { everySliced } from '../../../core/slices.js'
import type { Aggregated, AggregateQuery, MaybePromise } from '../../../core/storage.js'
import { compileCondition } from '../../sql/compile-condition.js'
import type { Value } from '../../sql/dialect.js'
import type { Seat } from '../connection/readers.js'
import { foldNarrowRows, type NarrowRows } from '../narrow-rows.js'
import { sqliteDialect } from '../sqlite-dialect.js'
import { areAsked, findMatches } from './read-list.js'
import type { CollectionPath } from './read-path.js'
import { divide, findCandidates } from './read-statements.js'

interface GroupPlan extends CollectionPath {
  readonly query: AggregateQuery
}

/** Groups in slices. If statements check all conditions, they select only the values that the groups need. */
export function groupInSlices(seat: Seat, plan: GroupPlan): MaybePromise<Aggregated> {
  const { query, path } = plan
  const rows = areAsked(path) ? foldNarrowRows(query, path.isOverlapping === true) : undefined
  if (rows?.filters.every(isAsked)) return groupRows(seat, plan, rows)
  const fold = foldDocuments(query)
  const matches = findMatches(seat, plan, { isCounting: false })
  const folding = everySliced(
    seat.slices,
    matches,
    (match) => typeof match === 'number' || fold.add(match.document, seat.slices),
  )
  return whenReady(folding, fold.finish)
}

/** Whether a statement checks all conditions of a filter. */
const isAsked = (filter: Filter): boolean => divide(conditionsOf(filter)).judged.length === 0

function groupRows(
  seat: Seat,
  plan: GroupPlan,
  { writeRow, add, finish }: NarrowRows,
): MaybePromise<Aggregated> {
  const values: Value[] = []
  const bind = (value: Value): string => {
    values.push(value)
    return '?'
  }
  const text = writeRow((filter) => compileCondition(filter, sqliteDialect, bind).sql)
  const { slices } = seat
  const folding = everySliced(
    slices,
    findCandidates(seat, plan, { text, values }),
    (row) => typeof row !== 'string' || add(row, slices),
  )
  return whenReady(folding, finish)
}
