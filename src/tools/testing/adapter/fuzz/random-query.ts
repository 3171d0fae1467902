import {
  type ComparableType,
  everything,
  type Filter,
  nothing,
  type Scalar,
} from '../../../../core/filter/filter.js'
import { compileFilter } from '../../../../core/filter/matches.js'
import type { Pattern } from '../../../../core/filter/pattern/syntax/pattern.js'
import { PatternFault } from '../../../../core/filter/pattern/syntax/read-syntax.js'
import type { ListQuery, SortKey, StoredDocument } from '../../../../core/storage.js'
import { by, eq, fieldOf, ID, notOf, present } from '../check/documents.js'
import { operandsOf, scalars, scalarTypes } from '../check/edge-values.js'
import { parsePattern } from '../check/parse-pattern.js'
import { rangesBehind } from '../check/ranges-behind.js'
import type { Random } from './random.js'
import type { PooledField } from './random-store.js'

const SETS = [
  '.',
  '\\d',
  '\\D',
  '\\w',
  '\\W',
  '\\s',
  '\\S',
  '[a-z]',
  '[^a-z]',
  '[A-Z\\d]',
  '[^\\n]',
  '[\u00c0-\u024f]',
  '[\ud7ff-\u{10fff}]',
]
const MARKS = ['^', '$', '\\b', '\\B']
const REPEATS = ['*', '+', '?', '*?', '+?', '{0}', '{2}', '{1,2}', '{0,3}', '{2,}', '{0,300}']

const quote = (text: string): string =>
  text
    .replace(/[$()*+./?[\\\]^{|}]/g, '\\$&')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')

function drawAtom(random: Random, text: string, depth: number): string {
  const fate = random.next()
  if (fate < 0.5) {
    const points = [...text]
    const start = random.integer(0, Math.max(0, points.length - 1))
    return quote(points.slice(start, start + random.integer(1, 3)).join(''))
  }
  if (fate < 0.75 || depth === 0) return random.pick(SETS)
  const choices = Array.from({ length: random.integer(1, 3) }, () => drawSource(random, text, depth - 1))
  return `(${random.pick(['', '?:'])}${choices.join('|')})`
}

function drawSource(random: Random, text: string, depth: number): string {
  const parts = Array.from({ length: random.integer(1, 3) }, () => {
    if (random.chance(0.12)) return random.pick(MARKS)
    const atom = drawAtom(random, text, depth)
    if (!random.chance(0.3)) return atom
    return `${[...atom].length > 1 && !/^[([]/.test(atom) ? `(?:${atom})` : atom}${random.pick(REPEATS)}`
  })
  return parts.join('')
}

/** Draws a pattern that all adapters support and that is likely to match a part of the text. */
export function drawPattern(random: Random, text: string): Pattern {
  const source = `${random.chance(0.25) ? '^' : ''}${drawSource(random, text, 2)}${random.chance(0.25) ? '$' : ''}`
  try {
    return parsePattern(source, { ignoreCase: random.chance(0.4) })
  } catch (thrown) {
    // The drawn pattern is invalid, because it repeats an anchor or is too large.
    if (thrown instanceof PatternFault) return { kind: 'text', text }
    throw thrown
  }
}

/** The fields and documents from which queries are drawn. */
export interface QuerySource {
  readonly fields: readonly PooledField[]
  readonly documents: readonly StoredDocument[]
}

const scalarTypeOf = (field: PooledField): ComparableType | undefined =>
  scalarTypes.find((type) => type === field.ref.type)

const isScalar = (value: unknown): value is Scalar => ['string', 'number', 'boolean'].includes(typeof value)

/**
 * Draws an operand: usually a stored value of the field, sometimes another value with which its type can be compared.
 */
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
  if (!type || random.chance(0.12)) return present(ref)
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

/** Draws a list of a few values for one field, which may contain a value twice. */
function drawList(random: Random, { fields }: QuerySource): Filter {
  const field = random.pick(fields)
  const type = scalarTypeOf(field)
  if (!type) return present(field.ref)
  const filters = Array.from({ length: random.integer(2, 4) }, () =>
    eq(field.ref, drawOperand(random, field, type)),
  )
  return { kind: 'or', filters }
}

function drawFilter(random: Random, source: QuerySource, depth: number): Filter {
  if (random.chance(0.06)) return drawList(random, source)
  const fate = random.next()
  if (depth === 0 || fate < 0.3) return drawLeaf(random, source)
  if (fate < 0.45) return notOf(drawFilter(random, source, depth - 1))
  if (fate < 0.47) return random.pick([everything, nothing])
  const filters = Array.from({ length: random.integer(1, 3) }, () => drawFilter(random, source, depth - 1))
  return { kind: fate < 0.73 ? 'and' : 'or', filters }
}

/** If a drawn filter matches no or all documents, another one is drawn with the probability `RETRY`. */
const RETRY = 0.75
const MAX_TRIES = 6

/** Draws a filter that usually matches some, but not all documents. */
export function drawTellingFilter(random: Random, source: QuerySource): Filter {
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

/** Draws a document, and returns the ranges that continue a list after it. */
const drawRanges = (
  random: Random,
  { documents }: QuerySource,
  sort: readonly SortKey[],
): readonly Filter[] => (documents.length > 0 ? rangesBehind(sort, random.pick(documents)) : [])

/** Draws a query for the documents of a store. */
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
