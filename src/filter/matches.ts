import type { Slice } from '../slices.js'
import type { JsonObject } from '../types.js'
import { compare, holdsType } from './compare.js'
import type { ComparisonKind, FieldRef, Filter } from './filter.js'
import { type Equalities, joinEqualities } from './join-equalities.js'
import { compilePattern } from './pattern/compile-pattern.js'
import { compilePath, isObject } from './read-path.js'

/** A filter as a function of a stored document. */
export type Predicate = (document: JsonObject) => boolean

const HOLDS: { readonly [kind in ComparisonKind]: (order: number) => boolean } = {
  eq: (order) => order === 0,
  lt: (order) => order < 0,
  lte: (order) => order <= 0,
  gt: (order) => order > 0,
  gte: (order) => order >= 0,
}

/**
 * A filter as a function of a stored document that can pause: it takes its steps from a slice, and is `undefined` where
 * that is used up first. Asked again, with the same document and a new slice, it goes on from there.
 */
export type Judge = (document: JsonObject, slice: Slice) => boolean | undefined

/** Compiles `filter` to a judge, for one walk through documents: it holds where it paused. */
export function compileJudge(filter: Filter): Judge {
  const predicate = compileFilter(filter)
  return (document, slice) => {
    slice.left -= 1
    return predicate(document)
  }
}

/** Compiles `filter` to closures: once per query, then one call per document. */
export function compileFilter(filter: Filter): Predicate {
  switch (filter.kind) {
    case 'and':
      return compileAll(filter.filters.map(compileFilter))
    case 'or':
      return compileAny(
        joinEqualities(filter.filters).map((part) =>
          part.kind === 'one of' ? compileOneOf(part) : compileFilter(part),
        ),
      )
    case 'not': {
      const inner = compileFilter(filter.filter)
      return (document) => !inner(document)
    }
    case 'present':
      return compilePresent(filter.field)
    case 'match': {
      const { test } = compilePattern(filter.pattern)
      return compileLeaf(filter.field, (value) => test(value as string))
    }
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
      return compileLeaf(
        filter.field,
        (value) => typeof value === typeof bound && holds(compare(value as string | number, bound)),
      )
    }
    default:
      return filter satisfies never
  }
}

/** Whether `document` satisfies `filter`: the one meaning that every storage adapter must reproduce. */
export const matches = (filter: Filter, document: JsonObject): boolean => compileFilter(filter)(document)

function compileAll(parts: readonly Predicate[]): Predicate {
  const [first, second] = parts
  if (!first) return () => true
  if (!second) return first
  if (parts.length === 2) return (document) => first(document) && second(document)
  return (document) => {
    for (const part of parts) if (!part(document)) return false
    return true
  }
}

function compileAny(parts: readonly Predicate[]): Predicate {
  const [first] = parts
  if (!first) return () => false
  if (parts.length === 1) return first
  return (document) => {
    for (const part of parts) if (part(document)) return true
    return false
  }
}

function compilePresent({ path, type, each }: FieldRef): Predicate {
  const read = compilePath(path)
  const holds = holdsType(each ? 'array' : type)
  return (document) => holds(read(document))
}

function compileOneOf({ field, values }: Equalities): Predicate {
  const wanted: ReadonlySet<unknown> = new Set(values)
  return compileLeaf(field, (value) => wanted.has(value))
}

/** `test` gets only values of the field's type. */
function compileLeaf({ path, type, each, inside }: FieldRef, test: (value: unknown) => boolean): Predicate {
  const read = compilePath(path)
  const holds = holdsType(type)
  if (!each) {
    return (document) => {
      const value = read(document)
      return holds(value) && test(value)
    }
  }
  const readInside = compileInside(inside)
  return (document) => {
    const elements = read(document)
    if (!Array.isArray(elements)) return false
    for (const element of elements) {
      const value = readInside(element)
      if (holds(value) && test(value)) return true
    }
    return false
  }
}

/** What an element of an array is compared by: itself, or what lies inside it. */
function compileInside(path: string | undefined): (element: unknown) => unknown {
  if (path === undefined) return (element) => element
  const read = compilePath(path)
  return (element) => (isObject(element) ? read(element) : undefined)
}
