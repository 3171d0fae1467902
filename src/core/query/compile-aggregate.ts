import type { Field } from '../fields/field-type.js'
import { suggest } from '../fields/schema/names.js'
import { compare, isComparable } from '../filter/compare.js'
import { everything, type FieldRef, type Filter, type Scalar } from '../filter/filter.js'
import type { AggregateQuery, Cut, GroupPart, Measure } from '../storage.js'
import type { Limits } from '../types.js'
import {
  beginReading,
  compileFilterOf,
  explainSpaces,
  guardLeaves,
  type QueryLimits,
  type QueryScope,
  readDirection,
  readLimit,
  readPaths,
  readTotal,
  readWhole,
  refuseBeyond,
} from './compile-query.js'
import { buildCondition, ConditionFault, isArrayText, readOperands } from './condition.js'
import { invalidQuery, isTold, type RawQuery, SUMMARIES, type Summary, unknownField } from './query-string.js'
import type { QueryReading } from './reading.js'

/** A part of the key of groups, as a query asks for it. */
export interface AskedPart extends GroupPart {
  /** The path of the field. */
  readonly name: string
  /** Whether `cut` is a day, and seven days are one group. */
  readonly isWeek: boolean
}

/** A list of measures: the names of the fields, and their places among the measures of the query. */
export interface MeasureList {
  readonly summary: Summary
  readonly names: readonly string[]
  readonly places: readonly number[]
}

/** One key of the order of groups: the place of a part of the key, the count, or the summary of a measure. */
export interface GroupOrder {
  readonly of: { readonly part: number } | { readonly summary: Summary; readonly place: number } | 'count'
  readonly descending: boolean
}

/** A compiled query for groups. */
export interface AggregateRequest extends Pick<AggregateQuery, 'filter' | 'measures'> {
  readonly by: readonly AskedPart[]
  readonly lists: readonly MeasureList[]
  readonly order: readonly GroupOrder[]
  readonly skip: number
  readonly limit: number | null
  readonly isTotalAsked: boolean
}

/** The maximum number of fields by which a query groups, and of measures (CONTRACT.md §2, "Aggregates"). */
const [MAX_PARTS, MAX_MEASURES] = [3, 10]

type AggregateLimits = QueryLimits & Pick<Limits, 'groups'>

/** Compiles a query for groups for one caller. Throws `invalid_query` with every fault. */
export function compileAggregate(
  raw: RawQuery,
  scope: QueryScope,
  limits: AggregateLimits,
): AggregateRequest {
  const values = refuseBeyond(raw, limits)
  const reading = beginReading(scope)
  const { faults, attempt, readable } = reading
  const filter = guardLeaves(compileFilterOf(raw, 'q', reading), readable)
  const by = compileParts(raw.by, reading, limits.values - values)
  const { lists, measures } = compileMeasures(raw, reading)
  const order = compileOrder(raw.sort, reading, listSortable(by.found, lists))
  const { skip, limit } = raw
  const page = {
    skip: skip === undefined ? 0 : attempt('skip', 0, () => readWhole(skip)),
    limit: limit === undefined ? null : attempt('limit', null, () => readLimit(limit, limits)),
    isTotalAsked: attempt('total', false, () => readTotal(raw.total)),
  }
  if (faults.length > 0) throw invalidQuery(faults)
  return { filter, by: by.parts, measures, lists, order, ...page }
}

/** Returns the error for more groups than an answer may have. */
export const tooManyGroups = (message: string) => invalidQuery([{ path: 'by', code: 'too_many', message }])

/** The filter of the documents in which the caller sees a field. */
const shownIn = ({ guard }: QueryReading['readable'], ref: FieldRef): Filter =>
  guard?.(everything, ref) ?? everything

/** `found`: the fields that exist for the caller, although some may have faults. */
interface Parts {
  readonly found: readonly string[]
  readonly parts: readonly AskedPart[]
}

/** Compiles `by`. `values`: the number of edges that the query may have. */
function compileParts(raw: RawQuery['by'], reading: QueryReading, values: number): Parts {
  const { find, attempt, readable } = reading
  const found: string[] = []
  const parts: AskedPart[] = []
  let [left, arrays] = [values, 0]
  for (const [path, text] of raw) {
    const parameter = `by[${path}]`
    // A field that no grant shows has no other fault than an unknown one.
    const field = find(parameter, path)
    if (!field) continue
    found.push(path)
    attempt(parameter, undefined, () => {
      const { ref } = field
      const form = readForm(text)
      if (!ref || !isComparable(ref.type)) throw unsuitable(field, 'form no groups')
      if (field.items) arrays += 1
      const edges = form === 'edges' ? readEdges(field, text) : []
      left -= edges.length
      const cut =
        form === 'edges' ? (left < 0 ? [] : compileEdges(field, edges, text)) : checkForm(field, form)
      const isWeek = form === 'week'
      parts.push({ name: path, field: ref, shown: shownIn(readable, ref), cut, isWeek })
    })
  }
  const refuse = (message: string): void => {
    reading.faults.push({ path: 'by', code: 'too_many', message })
  }
  if (found.length > MAX_PARTS) refuse(`has more than ${MAX_PARTS} fields`)
  if (arrays > 1) refuse('has more than one array')
  if (left < 0)
    refuse(`has more than ${values} edges; they count towards limits.values, as the values of q do`)
  return { found, parts }
}

const WORDS = ['value', 'hour', 'day', 'week', 'month', 'year'] as const

type Form = (typeof WORDS)[number] | 'edges'

function readForm(text: string): Form {
  const word = WORDS.find((one) => one === text)
  if (word) return word
  if (isArrayText(text)) return 'edges'
  throw new ConditionFault('malformed', `must be ${WORDS.join(', ')}, or a JSON array of edges, like [0,10]`)
}

const unsuitable = ({ type }: Field, message: string): ConditionFault =>
  new ConditionFault('wrong_operator', `values of type ${type} ${message}`)

/** Checks that a field has intervals of time. A week is a day whose groups are merged. */
function checkForm(field: Field, form: Exclude<Form, 'edges'>): Cut {
  if (form === 'value') return form
  if (field.items) throw unsuitable(field, 'are only grouped by value')
  if (field.ref?.type !== 'timestamp') throw unsuitable(field, `have no ${form}`)
  return form === 'week' ? 'day' : form
}

function readEdges(field: Field, text: string): readonly unknown[] {
  if (field.items) throw unsuitable(field, 'are only grouped by value')
  if (!field.fieldType.isOrdered) throw unsuitable(field, 'have no order')
  const [edges] = readOperands(field, '$in', [text])
  if (Array.isArray(edges) && edges.length > 0) return edges as readonly unknown[]
  throw new ConditionFault('malformed', 'must be a JSON array of at least one edge, like [0,10]')
}

/** Validates and normalises edges as values of `$gte`. They must ascend then. */
function compileEdges(field: Field, edges: readonly unknown[], text: string): readonly Scalar[] {
  const build = (all: readonly unknown[]): readonly Scalar[] => all.map((edge) => compileEdge(field, edge))
  let stored: readonly Scalar[]
  try {
    stored = build(edges)
  } catch (thrown) {
    if (!(thrown instanceof ConditionFault)) throw thrown
    throw explainSpaces(thrown, [text], ([spaced = '']) => build(JSON.parse(spaced) as readonly unknown[]))
  }
  if (stored.every((edge, i) => i === 0 || compare(stored[i - 1], edge) < 0)) return stored
  throw new ConditionFault('malformed', 'must have edges that ascend, none of them twice')
}

function compileEdge(field: Field, edge: unknown): Scalar {
  const bound = buildCondition(field, '$gte', edge)
  if (bound.kind !== 'gte') throw new Error('a bound is one comparison')
  return bound.value
}

/** What each list takes of the values of a field. */
const TAKES: { readonly [summary in Summary]: Measure['takes'][number] } = {
  sum: 'sum',
  avg: 'sum',
  min: 'min',
  max: 'max',
}

const NUMBERS: readonly string[] = ['number', 'integer']

function compileMeasures(raw: RawQuery, reading: QueryReading): Pick<AggregateRequest, 'lists' | 'measures'> {
  const { find, attempt, readable } = reading
  const measures: (Omit<Measure, 'takes'> & { readonly takes: Set<Measure['takes'][number]> })[] = []
  const lists: MeasureList[] = []
  let number = 0
  for (const summary of SUMMARIES) {
    const texts = raw[summary]
    if (!texts) continue
    const names: string[] = []
    const places: number[] = []
    const refuse = (code: string, message: string): void => {
      reading.faults.push({ path: summary, code, message })
    }
    const paths = attempt(summary, [], () => readNames(texts))
    for (const path of new Set(paths)) {
      // As for `by`: a field that no grant shows has no other fault.
      const field = find(summary, path)
      if (!field) continue
      number += 1
      names.push(path)
      if (paths.indexOf(path) !== paths.lastIndexOf(path))
        refuse('repeated', `names ${JSON.stringify(path)} twice`)
      if (number === MAX_MEASURES + 1)
        refuse('too_many', `goes beyond ${MAX_MEASURES} measures, in all lists together`)
      attempt(summary, undefined, () => {
        const ref = checkMeasure(field, summary)
        let place = measures.findIndex(({ field: known }) => known === ref)
        if (place < 0)
          place = measures.push({ field: ref, shown: shownIn(readable, ref), takes: new Set() }) - 1
        measures[place]?.takes.add(TAKES[summary])
        places.push(place)
      })
    }
    lists.push({ summary, names, places })
  }
  return { lists, measures: measures.map((measure) => ({ ...measure, takes: [...measure.takes] })) }
}

function readNames(texts: readonly string[]): readonly string[] {
  const names = readPaths(texts)
  if (names.length > 0) return names
  throw new ConditionFault('malformed', 'must name at least one field')
}

function checkMeasure(field: Field, summary: Summary): FieldRef {
  const { ref } = field
  const isSummed = TAKES[summary] === 'sum'
  if (!ref || ref.each || !isComparable(ref.type)) throw unsuitable(field, `have no ${summary}`)
  if (isSummed && !NUMBERS.includes(ref.type))
    throw unsuitable(field, `have no ${summary}, only numbers have`)
  return ref
}

/** Everything by which the groups of a query can be sorted, by its name. */
const listSortable = (
  found: readonly string[],
  lists: readonly MeasureList[],
): ReadonlyMap<string, GroupOrder['of']> =>
  new Map<string, GroupOrder['of']>([
    ...found.map((name, part) => [name, { part }] as const),
    ['$count', 'count'],
    ...lists.flatMap(({ summary, names, places }) =>
      names.map((name, i) => [`$${summary}.${name}`, { summary, place: places[i] ?? 0 }] as const),
    ),
  ])

function compileOrder(
  raw: RawQuery['sort'],
  { faults, attempt }: QueryReading,
  sortable: ReadonlyMap<string, GroupOrder['of']>,
): readonly GroupOrder[] {
  return [...raw].flatMap(([name, direction]): GroupOrder[] => {
    const parameter = `sort[${name}]`
    const of = sortable.get(name)
    if (of === undefined) {
      faults.push(unknownField(parameter, name, isTold(faults) ? suggest(name, [...sortable.keys()]) : ''))
      return []
    }
    return attempt(parameter, [], () => [{ of, descending: readDirection(direction) }])
  })
}
