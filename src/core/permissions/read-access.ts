import type { Field } from '../fields/field-type.js'
import { and, type Filter, hasPattern, isEverything, or } from '../filter/filter.js'
import { compileFilter, type Predicate } from '../filter/matches.js'
import type { ParsePattern } from '../filter/pattern/parse-pattern.js'
import { simplify } from '../filter/simplify.js'
import { freezeDeep } from '../json/freeze-deep.js'
import { CACHES } from '../kept/caches.js'
import type { Readable, ReadableNames } from '../query/reading.js'
import type { CollectionPlan, StoredDocument } from '../storage.js'
import { includesProperty, type PropertySet, type Rule } from './grants.js'
import type { FindText } from './kept-texts.js'
import type { FindView, Show, View } from './views.js'

/** Restricts a requested filter to the documents that the caller may read. */
type Restrict = (asked: Filter) => Filter

/**
 * Creates the restriction to the documents that rules allow. The conditions of the rules come before those of the
 * query: the evaluation time of a condition of the query must not reveal the content of a hidden document.
 */
function createRestriction(allowed: Filter): Restrict {
  // Compiled queries are cached, so the same filter objects are restricted again.
  const known = new WeakMap<Filter, Filter>()
  return (asked) => {
    const kept = CACHES.restrictions.isOn && known.get(asked)
    if (kept) return kept
    const restricted = simplify(and([allowed, putPatternsLast(asked)]))
    if (Object.isFrozen(asked)) known.set(asked, freezeDeep(restricted))
    return restricted
  }
}

/** Moves patterns to the end, because their evaluation costs most. */
function putPatternsLast(filter: Filter): Filter {
  if (filter.kind !== 'and' || !filter.filters.some(hasPattern)) return filter
  const costly = filter.filters.filter(hasPattern)
  return and([...filter.filters.filter((part) => !costly.includes(part)), ...costly])
}

/** The parts of a collection that an access needs. */
export interface AccessibleCollection {
  readonly storage: CollectionPlan
  readonly paths: ReadonlyMap<string, Field>
  readonly parsePattern: ParsePattern
}

/**
 * The read access of one caller to a collection: no document or field is in any response unless an access allows it.
 * Queries are compiled for an access (as their `Readable`), `restrict` narrows their filters for storage, and `show`
 * prepares documents for responses.
 */
export interface ReadAccess extends Readable {
  /** The collection in storage. */
  readonly storage: CollectionPlan
  /** Narrows a filter to the documents that the caller may read. */
  readonly restrict: Restrict
  /** Whether the caller may read this document at all. */
  isReadable(document: StoredDocument): boolean
  /**
   * Returns a readable document with the fields that the caller may read, or with the wanted ones of them, in the order
   * of CONTRACT.md §1.
   */
  readonly show: Show
  /** Returns the shown document as JSON text. */
  write(document: StoredDocument): string
  /**
   * Returns the shown document as JSON text in bytes, which are cached; `undefined` for a document that is not frozen.
   * Subtracts the steps of writing the text from `slice`.
   */
  readonly keep: FindText
  /** Whether the caller may read a top-level property of a readable document, even if the document does not have it. */
  isShown(document: StoredDocument, name: string): boolean
  /**
   * Everything that the access depends on, except the time, as text: the rules that apply, and the values of their
   * variables.
   */
  standing(): string
  /** Whether the access depends on the time. */
  readonly isTimed: boolean
}

/** A rule, and the filter of the documents to which it applies for one caller. */
export interface BoundRule {
  readonly rule: Rule
  readonly where: Filter
}

/** The parts of an access. */
interface AccessParts {
  readonly rules: readonly BoundRule[]
  readonly findView: FindView
  /** The key of this access in caches; `undefined` if it depends on the time. */
  readonly key: number | undefined
  readonly writeStanding: () => string
}

/** Compiles the access of a caller from the rules that apply to the caller. */
export function compileAccess(
  collection: AccessibleCollection,
  { rules, findView, key, writeStanding }: AccessParts,
): ReadAccess {
  const filter = or(rules.map(({ where }) => where))
  let matchesFilter: Predicate | undefined
  let views: ((document: StoredDocument) => View) | undefined
  const viewOf = (document: StoredDocument): View => {
    views ??= compileViewOf(rules, findView)
    return views(document)
  }
  const showsAll = rules.every(({ rule }) => isWhole(rule.properties))
  const showing = (path: string): readonly BoundRule[] => {
    const name = topOf(path)
    return name === '_id' ? rules : rules.filter(({ rule }) => includesProperty(rule.properties, name))
  }
  const names = createNames(collection.paths, (path) => showsAll || showing(path).length > 0)
  return {
    storage: collection.storage,
    parsePattern: collection.parsePattern,
    ...(key === undefined ? {} : { key }),
    restrict: createRestriction(filter),
    isReadable(document) {
      matchesFilter ??= compileWhere(filter)
      return matchesFilter(document)
    },
    find: names.find,
    isShownAlways: (field) => showsAll || showing(field.path).length === rules.length,
    guard: showsAll
      ? undefined
      : (filter, { path }) => {
          const shown = showing(path)
          return shown.length === rules.length ? filter : guardFilter(shown, filter)
        },
    paths: names.paths,
    show: (document, wanted) => viewOf(document).show(document, wanted),
    write: (document) => JSON.stringify(viewOf(document).show(document)),
    keep: (document, slice) => viewOf(document).keep(document, slice),
    isShown: (document, name) => name === '_id' || viewOf(document).includes(name),
    standing: writeStanding,
    isTimed: key === undefined,
  }
}

function createNames(fields: ReadonlyMap<string, Field>, isShown: (path: string) => boolean): ReadableNames {
  let paths: readonly string[] | undefined
  return {
    find(path) {
      const field = fields.get(path)
      return field && isShown(path) ? field : undefined
    },
    paths() {
      paths ??= [...fields.keys()].filter(isShown)
      return paths
    },
  }
}

/** The names of the fields that some rules show. This does not depend on the values of variables. */
export const namesOf = (
  { paths }: Pick<AccessibleCollection, 'paths'>,
  rules: readonly Rule[],
): ReadableNames =>
  createNames(paths, (path) => {
    const name = topOf(path)
    return name === '_id' || rules.some(({ properties }) => includesProperty(properties, name))
  })

const topOf = (path: string): string => {
  const dot = path.indexOf('.')
  return dot < 0 ? path : path.slice(0, dot)
}

const compileWhere = (where: Filter): Predicate => (isEverything(where) ? () => true : compileFilter(where))

/**
 * Adds the condition that one of `rules` applies to the document. In all other documents the field is hidden, so a
 * condition on it is false, as for a missing value.
 */
const guardFilter = (rules: readonly BoundRule[], filter: Filter): Filter =>
  and([or(rules.map(({ where }) => where)), filter])

/** Compiles the choice of the view of a document: the view of all rules whose condition is true for the document. */
function compileViewOf(rules: readonly BoundRule[], findView: FindView): (document: StoredDocument) => View {
  const [first] = rules
  if (first && rules.every(({ rule }) => isSame(rule.properties, first.rule.properties))) {
    const only = findView(rules.map(({ rule }) => rule))
    return () => only
  }
  const judged = rules.map(({ rule, where }) => ({ rule, holds: compileWhere(where) }))
  return (document) => findView(judged.filter(({ holds }) => holds(document)).map(({ rule }) => rule))
}

/** Whether a set includes every property. */
const isWhole = ({ pick, omit }: PropertySet): boolean => pick === null && omit.size === 0

const isSame = (a: PropertySet, b: PropertySet): boolean =>
  a === b || (isSameSet(a.pick, b.pick) && isSameSet(a.omit, b.omit))

const isSameSet = (a: ReadonlySet<string> | null, b: ReadonlySet<string> | null): boolean =>
  a === null || b === null ? a === b : a.size === b.size && [...a].every((name) => b.has(name))
