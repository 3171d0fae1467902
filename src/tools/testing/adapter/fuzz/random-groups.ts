import { compare, isComparable, type Ordered } from '../../../../core/filter/compare.js'
import { everything, type Filter, type Scalar } from '../../../../core/filter/filter.js'
import type { AggregateQuery, Cut, GroupPart, Measure } from '../../../../core/storage.js'
import { fieldOf, ID } from '../check/documents.js'
import { operandsOf } from '../check/edge-values.js'
import type { Random } from './random.js'
import { drawTellingFilter, type QuerySource } from './random-query.js'
import type { PooledField } from './random-store.js'

/** The largest limit: more keys than a store can have. */
const MANY = 1_000_000

const isScalar = (value: unknown): value is Scalar => ['string', 'number', 'boolean'].includes(typeof value)

/** Draws ascending edges: values of the field, and operands of its type. */
function drawEdges(random: Random, { ref, values }: PooledField): readonly Scalar[] {
  const operands = isComparable(ref.type) ? operandsOf(ref.type) : []
  const [sample] = operands
  const fitting = values.filter((value): value is Scalar => isScalar(value) && typeof value === typeof sample)
  const all = [...random.sample(fitting, 3), ...random.sample(operands, random.integer(1, 3))]
  return [...new Set(all)].sort((a: Ordered, b: Ordered) => compare(a, b))
}

function drawCut(random: Random, field: PooledField): Cut {
  const { type, each } = field.ref
  if (each || random.chance(0.5)) return 'value'
  if (type === 'timestamp' && random.chance(0.7))
    return random.pick(['hour', 'day', 'month', 'year'] as const)
  return type === 'boolean' ? 'value' : drawEdges(random, field)
}

/** Draws the documents in which a caller sees a field: often all. */
const drawShown = (random: Random, source: QuerySource, others: readonly Filter[]): Filter => {
  if (random.chance(0.5)) return everything
  return others.length > 0 && random.chance(0.5) ? random.pick(others) : drawTellingFilter(random, source)
}

const SYSTEM: readonly PooledField[] = [
  { ref: ID, values: ['a'] },
  { ref: fieldOf('_version', 'integer'), values: [1, 2] },
]

function drawTakes(random: Random, { type }: Measure['field']): Measure['takes'] {
  const takes =
    type === 'number' || type === 'integer' ? (['sum', 'min', 'max'] as const) : (['min', 'max'] as const)
  return random.sample(takes, random.integer(1, takes.length))
}

/** Draws a query for groups of the documents of a store. */
export function drawGroups(random: Random, source: QuerySource): AggregateQuery {
  const known = [...source.fields, ...SYSTEM]
  const fields = known.filter(({ ref }) => isComparable(ref.type) && ref.inside === undefined)
  const shown: Filter[] = []
  const drawOwn = (): Filter => {
    const own = drawShown(random, source, shown)
    shown.push(own)
    return own
  }
  let hasArray = false
  const by: GroupPart[] = []
  for (const field of random.sample(fields, random.pick([0, 1, 1, 1, 2, 3]))) {
    if (field.ref.each && hasArray) continue
    hasArray ||= field.ref.each
    by.push({ field: field.ref, shown: drawOwn(), cut: drawCut(random, field) })
  }
  const summed = fields.filter(({ ref }) => !ref.each)
  const numbers = summed.filter(({ ref }) => ref.type === 'number' || ref.type === 'integer')
  const measured = [
    ...random.sample(numbers, random.integer(0, 2)),
    ...random.sample(summed, random.integer(0, 1)),
  ]
  const measures = measured.map(
    ({ ref }): Measure => ({ field: ref, shown: drawOwn(), takes: drawTakes(random, ref) }),
  )
  return {
    filter: random.chance(0.3) ? everything : drawTellingFilter(random, source),
    by,
    measures,
    limit: random.chance(0.1) ? random.integer(1, 4) : MANY,
    characters: MANY,
  }
}
