import { type ComparableType, everything, type Filter, nothing, type Scalar } from '../../../filter/filter.js'
import { compileFilter } from '../../../filter/matches.js'
import type { ListQuery, SortKey, StoredDocument } from '../../../storage.js'
import { by, eq, fieldOf, ID } from '../check/documents.js'
import { operandsOf, scalars, scalarTypes } from '../check/edge-values.js'
import { rangesBehind } from '../check/ranges-behind.js'
import type { Random } from './random.js'
import { drawPattern } from './random-pattern.js'
import type { PooledField } from './random-store.js'

/** The input for drawing queries. */
export interface QuerySource {
  readonly fields: readonly PooledField[]
  readonly documents: readonly StoredDocument[]
}

const scalarTypeOf = (field: PooledField): ComparableType | undefined =>
  scalarTypes.find((type) => type === field.ref.type)

const isScalar = (value: unknown): value is Scalar => ['string', 'number', 'boolean'].includes(typeof value)

/** Mostly a stored value, sometimes another possible one; for equality, sometimes one of another type. */
function drawOperand(random: Random, field: PooledField, type: ComparableType): Scalar {
  const there = random.chance(0.85) ? random.pick(field.values) : undefined
  return isScalar(there) ? there : random.pick(operandsOf(type))
}

function drawLeaf(random: Random, { fields, documents }: QuerySource): Filter {
  if (random.chance(0.06) && documents.length > 0) {
    return {
      kind: random.pick(['eq', 'lt', 'lte', 'gt', 'gte'] as const),
      field: ID,
      value: random.pick(documents)._id,
    }
  }
  const field = random.pick(fields)
  const { ref } = field
  const type = scalarTypeOf(field)
  if (!type || random.chance(0.12)) return { kind: 'present', field: ref }
  if ((type === 'string' || type === 'timestamp') && random.chance(0.35)) {
    const value = random.pick(field.values)
    const text = typeof value === 'string' ? value : ''
    const changed = random.pick([text, text, text, text.toLowerCase(), text.toUpperCase()])
    return { kind: 'match', field: ref, pattern: drawPattern(random, changed) }
  }
  if (random.chance(0.35))
    return eq(ref, random.chance(0.08) ? random.pick(scalars) : drawOperand(random, field, type))
  return {
    kind: random.pick(['lt', 'lte', 'gt', 'gte'] as const),
    field: ref,
    value: drawOperand(random, field, type),
  }
}

/** A few values of one field, perhaps with a duplicate. */
function drawList(random: Random, { fields }: QuerySource): Filter {
  const field = random.pick(fields)
  const type = scalarTypeOf(field)
  if (!type) return { kind: 'present', field: field.ref }
  const filters = Array.from({ length: random.integer(2, 4) }, () =>
    eq(field.ref, drawOperand(random, field, type)),
  )
  return { kind: 'or', filters }
}

function drawFilter(random: Random, source: QuerySource, depth: number): Filter {
  if (random.chance(0.06)) return drawList(random, source)
  const fate = random.next()
  if (depth === 0 || fate < 0.3) return drawLeaf(random, source)
  if (fate < 0.45) return { kind: 'not', filter: drawFilter(random, source, depth - 1) }
  if (fate < 0.47) return random.pick([everything, nothing])
  const filters = Array.from({ length: random.integer(1, 3) }, () => drawFilter(random, source, depth - 1))
  return { kind: fate < 0.73 ? 'and' : 'or', filters }
}

/** The share of filters with a trivial answer that are drawn again. */
const RETRY = 0.75
const MAX_TRIES = 6

function drawTellingFilter(random: Random, source: QuerySource): Filter {
  let filter = drawFilter(random, source, random.integer(0, 4))
  for (let tries = 1; tries < MAX_TRIES && random.chance(RETRY); tries++) {
    const found = source.documents.filter(compileFilter(filter)).length
    if (found > 0 && found < source.documents.length) break
    filter = drawFilter(random, source, random.integer(0, 4))
  }
  return filter
}

function drawSort(random: Random, { fields }: QuerySource): readonly SortKey[] {
  const sortable = fields.filter((field) => !field.ref.each && scalarTypeOf(field))
  const chosen = random.sample(sortable, random.pick([0, 1, 1, 2, 3]))
  if (chosen.length === 0 && random.chance(0.3)) return []
  const uniform = random.chance(0.6) ? random.chance(0.5) : undefined
  const keys = chosen.map(({ ref: { path, type } }) => by(fieldOf(path, type), uniform ?? random.chance(0.5)))
  return [...keys, by(ID, uniform ?? random.chance(0.5))]
}

/** The ranges that continue a list after some document. */
const drawRanges = (
  random: Random,
  { documents }: QuerySource,
  sort: readonly SortKey[],
): readonly Filter[] => (documents.length > 0 ? rangesBehind(sort, random.pick(documents)) : [])

/** Draws a query for a store. */
export function drawQuery(random: Random, source: QuerySource): ListQuery {
  const sort = drawSort(random, source)
  const ranges = random.chance(0.1) ? drawRanges(random, source, sort) : []
  return {
    filter: ranges.length > 0 ? random.pick(ranges) : drawTellingFilter(random, source),
    sort,
    skip: random.chance(0.7) ? 0 : random.pick([1, 2, 5, source.documents.length, Number.MAX_SAFE_INTEGER]),
    limit: random.chance(0.6) ? null : random.pick([1, 2, 5, 10, 1000, 0]),
  }
}
