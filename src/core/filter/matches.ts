import { compilePath, isObject } from '../json/own-properties.js'
import { type Counted, endless, type Sliced } from '../slices.js'
import type { JsonObject } from '../types.js'
import { compare, holdsType } from './compare.js'
import type { ComparisonKind, FieldRef, Filter } from './filter.js'
import { type Equalities, joinEqualities } from './join-equalities.js'
import { compilePattern, type Matcher, type TextSearch } from './pattern/compile-pattern.js'

/**
 * Evaluates a filter on a stored document. It subtracts its steps from a slice, and returns `undefined` when
 * the slice is used up. When it is called again with the same document and a new slice, it continues.
 */
export type Judge = Counted<[document: JsonObject], boolean | undefined>

/** Evaluates a judge to its end, in as many slices as it needs. */
export const judgeSliced: Sliced<[judge: Judge, document: JsonObject], boolean> = (judge, document, slices) =>
  judge(document, slices) ?? slices.next().then(() => judgeSliced(judge, document, slices))

/** Evaluates a filter on a stored document, without pauses. */
export type Predicate = (document: JsonObject) => boolean

const HOLDS: { readonly [kind in ComparisonKind]: (order: number) => boolean } = {
  eq: (order) => order === 0,
  lt: (order) => order < 0,
  lte: (order) => order <= 0,
  gt: (order) => order > 0,
  gte: (order) => order >= 0,
}

/**
 * Compiles `filter` for one walk through documents. The compiled functions remember the document at which
 * they paused.
 */
export function compileJudge(filter: Filter): Judge {
  switch (filter.kind) {
    case 'and':
      return compileParts(filter.filters.map(compileJudge), false)
    case 'or':
      return compileParts(
        joinEqualities(filter.filters).map((part) =>
          part.kind === 'one of' ? compileOneOf(part) : compileJudge(part),
        ),
        true,
      )
    case 'not': {
      const inner = compileJudge(filter.filter)
      return (document, slice) => {
        const verdict = inner(document, slice)
        return verdict === undefined ? undefined : !verdict
      }
    }
    case 'present':
      return compilePresent(filter.field)
    case 'match':
      return compileMatch(filter.field, compilePattern(filter.pattern))
    case 'eq': {
      const { value: wanted } = filter
      return compileLeaf(filter.field, (value) => value === wanted)
    }
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte': {
      const { value: bound } = filter
      const holds = HOLDS[filter.kind]
      const length = typeof bound === 'string' ? bound.length : 0
      return compileLeaf(
        filter.field,
        (value) => typeof value === typeof bound && holds(compare(value as string | number, bound)),
        1 + (length >> 4),
      )
    }
    default:
      return filter satisfies never
  }
}

/**
 * Compiles `filter` to a predicate that never pauses. Compile once per query, then call it for each document.
 *
 * @example
 * ```ts
 * const age: FieldRef = { path: 'age', type: 'number', each: false }
 * const found = documents.filter(compileFilter({ kind: 'eq', field: age, value: 3 }))
 * ```
 */
export function compileFilter(filter: Filter): Predicate {
  const judge = compileJudge(filter)
  const slice = endless()
  return (document) => judge(document, slice) === true
}

/**
 * Whether `document` satisfies `filter`. This defines the meaning that every storage adapter must reproduce.
 *
 * @example
 * ```ts
 * matches({ kind: 'present', field: { path: 'name', type: 'string', each: false } }, { name: 'Ann' }) // true
 * ```
 */
export const matches = (filter: Filter, document: JsonObject): boolean => compileFilter(filter)(document)

/** Compiles the parts of an `and` or an `or`. The result is `decisive` if it is that of any part. */
function compileParts(parts: readonly Judge[], decisive: boolean): Judge {
  const [first] = parts
  if (first && parts.length === 1) return first
  return (document, slice) => {
    for (const part of parts) {
      const verdict = part(document, slice)
      if (verdict !== !decisive) return verdict
    }
    return !decisive
  }
}

function compilePresent({ path, type, each }: FieldRef): Judge {
  const read = compilePath(path)
  const holds = holdsType(each ? 'array' : type)
  return (document, slice) => {
    slice.left -= 1
    return holds(read(document))
  }
}

function compileOneOf({ field, values }: Equalities): Judge {
  const wanted = new Set<unknown>(values)
  return compileLeaf(field, (value) => wanted.has(value))
}

/** Tests a value of a leaf's type: returns the answer, or work that can pause. */
type TestValue = Counted<[value: unknown], boolean | TextSearch>

function compileMatch(field: FieldRef, matcher: Matcher): Judge {
  const begin: TestValue = (value, slice) => matcher.begin(value as string, slice)
  if (field.each) return compileEach(field, begin)
  const read = compilePath(field.path)
  const holds = holdsType(field.type)
  return canPause((document, slice) => {
    const value = read(document)
    return holds(value) && begin(value, slice)
  })
}

function compileLeaf(field: FieldRef, test: (value: unknown) => boolean, steps = 1): Judge {
  if (field.each) return compileEach(field, test)
  const read = compilePath(field.path)
  const holds = holdsType(field.type)
  return (document, slice) => {
    slice.left -= steps
    const value = read(document)
    return holds(value) && test(value)
  }
}

/** Compiles a leaf condition on an array: true if at least one element satisfies the test. */
function compileEach({ path, type, inside }: FieldRef, test: TestValue): Judge {
  const read = compilePath(path)
  const readInside = compileInside(inside)
  const holds = holdsType(type)
  const begin: TestValue = (element, slice) => {
    const value = readInside(element)
    return holds(value) && test(value, slice)
  }
  return canPause((document) => {
    const elements = read(document)
    return Array.isArray(elements) && walkElements(elements, begin)
  })
}

function walkElements(elements: readonly unknown[], begin: TestValue): TextSearch {
  let place = 0
  let current: TextSearch | undefined
  return {
    goOn(slice) {
      for (; place < elements.length; place++) {
        if (slice.left <= 0) return undefined
        slice.left -= 1
        const begun = current ?? begin(elements[place], slice)
        const verdict = typeof begun === 'boolean' ? begun : begun.goOn(slice)
        if (verdict) return true
        current = verdict === undefined && typeof begun === 'object' ? begun : undefined
        if (verdict === undefined) return undefined
      }
      return false
    },
  }
}

/** A result that took more than this number of steps is remembered, in case another leaf pauses. */
const DEAR = 1000

/**
 * Compiles a leaf that can pause. For the last document, it remembers its progress after a pause, and an
 * answer that took long (`DEAR`) or came after a pause.
 */
function canPause(begin: Counted<[document: JsonObject], boolean | TextSearch>): Judge {
  let last:
    | { readonly document: JsonObject; readonly work: boolean | TextSearch; verdict: boolean | undefined }
    | undefined
  return (document, slice) => {
    slice.left -= 1
    const known = last?.document === document ? last : undefined
    if (known?.verdict !== undefined) return known.verdict
    const before = slice.left
    const work = known?.work ?? begin(document, slice)
    const verdict = typeof work === 'boolean' ? work : work.goOn(slice)
    if (verdict === undefined || known || before - slice.left > DEAR) last = { document, work, verdict }
    return verdict
  }
}

/**
 * Compiles a getter for the compared value of an array element: the element itself, or the value at a path
 * inside it.
 */
function compileInside(path: string | undefined): (element: unknown) => unknown {
  if (path === undefined) return (element) => element
  const read = compilePath(path)
  return (element) => (isObject(element) ? read(element) : undefined)
}
