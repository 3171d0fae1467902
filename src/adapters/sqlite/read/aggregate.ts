import { createFold, type Fold, foldDocuments } from '../../../core/aggregates/fold.js'
import { conditionsOf, type Filter, ID, isEverything } from '../../../core/filter/filter.js'
import { whenReady } from '../../../core/promises.js'
import { everySliced } from '../../../core/slices.js'
import type { Aggregated, AggregateQuery, MaybePromise } from '../../../core/storage.js'
import { compileCondition } from '../../sql/compile-condition.js'
import type { Value } from '../../sql/dialect.js'
import { CHARACTERS } from '../../sql/read/judge-texts.js'
import type { Seat } from '../connection/readers.js'
import { sqliteDialect } from '../sqlite-dialect.js'
import { pathOf } from '../values.js'
import { areAsked, findMatches } from './read-list.js'
import type { CollectionPath } from './read-path.js'
import { divide, findCandidates, type PartColumn } from './read-statements.js'

interface GroupPlan extends CollectionPath {
  readonly query: AggregateQuery
}

/** Groups in slices. If statements check all conditions, they select only the values that the groups need. */
export function groupInSlices(seat: Seat, plan: GroupPlan): MaybePromise<Aggregated> {
  const { query, path } = plan
  const narrow = areAsked(path) ? narrowTo(query, path.isOverlapping === true) : undefined
  if (narrow) return groupRows(seat, plan, narrow)
  const fold = foldDocuments(query)
  const matches = findMatches(seat, plan, { isCounting: false })
  const folding = everySliced(
    seat.slices,
    matches,
    (match) => typeof match === 'number' || fold.add(match.document, seat.slices),
  )
  return whenReady(folding, fold.finish)
}

/** A row: the values at some paths, as JSON parses them, and for some filters whether the document matches them. */
interface NarrowRow {
  readonly values: readonly unknown[]
  readonly shown: string
}

/** How to select the values of a query, and how to fold the rows. */
interface Narrowing {
  readonly column: PartColumn
  /** The number of filters whose results follow the values. */
  readonly filters: number
  readonly fold: Fold<NarrowRow>
  /** Whether the first value is the `_id`, because a document may have several rows. */
  readonly hasId: boolean
}

/**
 * Returns how to select only the values of a query; `undefined` if a statement cannot say where its caller sees a field.
 * The values are selected as JSON text, because the numbers of SQLite would not always be the nearest doubles.
 */
function narrowTo({ by, measures, ...query }: AggregateQuery, hasId: boolean): Narrowing | undefined {
  const paths = hasId ? [ID.path] : []
  const filters: Filter[] = []
  const placeIn = <T>(all: T[], one: T, isSame: (other: T) => boolean): number => {
    const place = all.findIndex(isSame)
    return place < 0 ? all.push(one) - 1 : place
  }
  const compileReader = ({
    field,
    shown,
  }: AggregateQuery['by'][number] | AggregateQuery['measures'][number]) => {
    const place = placeIn(paths, field.path, (other) => other === field.path)
    if (isEverything(shown)) return ({ values }: NarrowRow): unknown => values[place]
    const text = JSON.stringify(shown)
    const filter = placeIn(filters, shown, (other) => other === shown || JSON.stringify(other) === text)
    return (row: NarrowRow): unknown => (row.shown[filter] === '1' ? row.values[place] : undefined)
  }
  const fold = createFold<NarrowRow>(
    { by, measures, ...query },
    { by: by.map(compileReader), measures: measures.map(compileReader) },
  )
  if (filters.some((filter) => divide(conditionsOf(filter)).judged.length > 0)) return undefined
  const values: Value[] = []
  const conditions = filters.map((filter) => {
    const bind = (value: Value): string => {
      values.push(value)
      return '?'
    }
    return `iif(${compileCondition(filter, sqliteDialect, bind).sql}, '1', '0')`
  })
  // With a single path, the result would not be an array.
  const selected = paths.length > 1 ? paths : [...paths, ID.path, ID.path].slice(0, 2)
  const array = `json_extract(document, ${selected.map(pathOf).join(', ')})`
  const column = { text: [array, ...conditions].join(' || '), values }
  return { column, filters: filters.length, fold, hasId }
}

function groupRows(
  seat: Seat,
  plan: GroupPlan,
  { column, filters, fold, hasId }: Narrowing,
): MaybePromise<Aggregated> {
  const { slices } = seat
  const known = new Set<unknown>()
  const folding = everySliced(slices, findCandidates(seat, plan, column), (text) => {
    if (typeof text !== 'string') return true
    slices.left -= text.length / CHARACTERS
    const end = text.length - filters
    const values = JSON.parse(filters === 0 ? text : text.slice(0, end)) as readonly unknown[]
    if (hasId && known.size === known.add(values[0]).size) return true
    return fold.add({ values, shown: filters === 0 ? '' : text.slice(end) }, slices)
  })
  return whenReady(folding, fold.finish)
}
