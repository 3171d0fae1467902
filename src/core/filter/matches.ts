import { compilePath, isObject } from '../json/own-properties.js'
import { endless, type Slice, type Slices } from '../slices.js'
import type { JsonObject, MaybePromise } from '../types.js'
import { compare, holdsType } from './compare.js'
import type { ComparisonKind, FieldRef, Filter } from './filter.js'
import { type Equalities, joinEqualities } from './join-equalities.js'
import { compilePattern } from './pattern/compile-pattern.js'
import { isCheap, stepsToSearch } from './pattern/machine/sieve.js'
import type { Pattern } from './pattern/syntax/pattern.js'

/**
 * Evaluates a filter on a stored document. It subtracts its steps from a slice, and returns `undefined` when
 * the slice is used up. When it is called again with the same document and a new slice, it continues.
 */
export type Judge = (document: JsonObject, slice: Slice) => boolean | undefined

/** Evaluates a judge to its end, in as many slices as it needs. */
export const judgeSliced = (judge: Judge, document: JsonObject, slices: Slices): MaybePromise<boolean> =>
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
      return compileAll(filter.filters.map(compileJudge))
    case 'or':
      return compileAny(
        joinEqualities(filter.filters).map((part) =>
          part.kind === 'one of' ? compileOneOf(part) : compileJudge(part),
        ),
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
      return compileMatch(filter.field, filter.pattern)
    case 'eq': {
      const { value: wanted } = filter
      return compileLeaf(filter.field, { test: (value) => value === wanted })
    }
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte': {
      const { value: bound } = filter
      const holds = HOLDS[filter.kind]
      const length = typeof bound === 'string' ? bound.length : 0
      return compileLeaf(filter.field, {
        test: (value) => typeof value === typeof bound && holds(compare(value as string | number, bound)),
        steps: 1 + (length >> 4),
      })
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

function compileAll(parts: readonly Judge[]): Judge {
  const [first] = parts
  if (!first) return () => true
  if (parts.length === 1) return first
  return (document, slice) => {
    for (const part of parts) {
      const verdict = part(document, slice)
      if (verdict !== true) return verdict
    }
    return true
  }
}

function compileAny(parts: readonly Judge[]): Judge {
  const [first] = parts
  if (!first) return () => false
  if (parts.length === 1) return first
  return (document, slice) => {
    for (const part of parts) {
      const verdict = part(document, slice)
      if (verdict !== false) return verdict
    }
    return false
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
  return compileLeaf(field, { test: (value) => wanted.has(value) })
}

/** The test that a leaf applies to a value of its field's type: a plain function, or work that can pause. */
type ValueTest =
  | { readonly test: (value: unknown) => boolean; readonly steps?: number }
  | { readonly begin: (value: unknown) => Pausing | boolean }

/** Pausable work on one value. `goOn` returns `undefined` when the slice is used up. */
interface Pausing {
  goOn(slice: Slice): boolean | undefined
}

/** Compiles a `match`. The usual case, plain text in a short string, needs no search with pauses. */
function compileMatch(field: FieldRef, pattern: Pattern): Judge {
  const matcher = compilePattern(pattern)
  const search = compileLeaf(field, { begin: (value) => matcher.search(value as string) })
  if (pattern.kind !== 'text' || field.each) return search
  const { text: literal } = pattern
  const read = compilePath(field.path)
  const holds = holdsType(field.type)
  return (document, slice) => {
    const value = read(document)
    if (typeof value !== 'string' || !isCheap(value, literal)) return search(document, slice)
    slice.left -= stepsToSearch(value)
    return holds(value) && value.includes(literal)
  }
}

function compileLeaf(field: FieldRef, asked: ValueTest): Judge {
  const read = compilePath(field.path)
  const holds = holdsType(field.type)
  if (field.each) return compileEach(field, asked)
  if ('begin' in asked) {
    return canPause((document) => {
      const value = read(document)
      return holds(value) && asked.begin(value)
    })
  }
  const { test, steps = 1 } = asked
  return (document, slice) => {
    slice.left -= steps
    const value = read(document)
    return holds(value) && test(value)
  }
}

/** Compiles a leaf condition on an array: true if at least one element satisfies the test. */
function compileEach({ path, type, inside }: FieldRef, asked: ValueTest): Judge {
  const read = compilePath(path)
  const readInside = compileInside(inside)
  const holds = holdsType(type)
  const begin = 'begin' in asked ? asked.begin : asked.test
  return canPause((document) => {
    const elements = read(document)
    return (
      Array.isArray(elements) && walkElements(elements, readInside, (value) => holds(value) && begin(value))
    )
  })
}

function walkElements(
  elements: readonly unknown[],
  readInside: (element: unknown) => unknown,
  begin: (value: unknown) => Pausing | boolean,
): Pausing {
  let place = 0
  let current: Pausing | undefined
  return {
    goOn(slice) {
      while (place < elements.length) {
        if (slice.left <= 0) return undefined
        slice.left -= 1
        const begun = current ?? begin(readInside(elements[place]))
        const verdict = typeof begun === 'boolean' ? begun : begun.goOn(slice)
        if (verdict) return true
        current = verdict === undefined && typeof begun === 'object' ? begun : undefined
        if (verdict === undefined) return undefined
        place += 1
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
function canPause(begin: (document: JsonObject) => Pausing | boolean): Judge {
  let last:
    | { readonly document: JsonObject; readonly work: Pausing; verdict: boolean | undefined }
    | undefined
  return (document, slice) => {
    slice.left -= 1
    const known = last?.document === document ? last : undefined
    if (known?.verdict !== undefined) return known.verdict
    const work = known?.work ?? begin(document)
    if (typeof work === 'boolean') return work
    const before = slice.left
    const verdict = work.goOn(slice)
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
