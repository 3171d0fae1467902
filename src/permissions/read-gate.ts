import { SYSTEM_FIELD_PLANS } from '../fields/compile-fields.js'
import type { Field } from '../fields/field-type.js'
import { and, type Filter, isEverything, type Leaf, nothing, or } from '../filter/filter.js'
import { compileFilter, type Predicate } from '../filter/matches.js'
import type { ParsePattern } from '../filter/pattern/parse-pattern.js'
import { compareText } from '../json/compare-text.js'
import { orderNames } from '../json/order-names.js'
import { isObject } from '../json/own-properties.js'
import type { Readable } from '../query/reading.js'
import { bindWhere } from '../query/where.js'
import { isSystemField } from '../schema/names.js'
import type { CollectionPlan, StoredDocument } from '../storage.js'
import type { Document, JsonObject } from '../types.js'
import type { Asking, KnownCaller } from './caller.js'
import {
  type CompiledPermissions,
  EVERYONE,
  includesProperty,
  OWNER,
  type PropertySet,
  type Rule,
  SIGNED_IN,
} from './grants.js'
import type { KeepTexts, WriteText } from './kept-texts.js'

/** The parts of a collection that a gate needs. */
export interface GatedCollection {
  readonly storage: CollectionPlan
  readonly fields: readonly Field[]
  readonly paths: ReadonlyMap<string, Field>
  readonly additionalProperties: boolean
  readonly permissions: CompiledPermissions
  readonly parsePattern: ParsePattern
}

/**
 * What one caller may read of a collection: the only source of the documents and fields in any answer.
 * Storage is asked with `filter`, queries are compiled against it as their `Readable`, documents leave
 * through `show`.
 */
export interface ReadAccess extends Readable {
  /** The collection in storage. */
  readonly storage: CollectionPlan
  /** The documents that the caller may read. */
  readonly filter: Filter
  /** Whether the caller may read this document at all. */
  isReadable(document: StoredDocument): boolean
  /** A readable document with the fields that the caller may read, in the order of CONTRACT.md §1. */
  show(document: StoredDocument): Document
  /** The same as JSON text. */
  write(document: StoredDocument): string
  /** Whether the caller may read a top-level name of a readable document; the document need not have it. */
  isShown(document: StoredDocument, name: string): boolean
}

/** Gives a caller's access, or `null` where no grant mentions the caller. */
export type ReadGate = (asking: Asking) => ReadAccess | null

/** A rule as it holds for one caller. */
interface BoundRule {
  readonly subject: string
  readonly properties: PropertySet
  readonly where: Filter
}

/**
 * Resolves the right to read (CONTRACT.md §5): grants add up. What does not depend on the single caller is
 * computed once, and its texts are kept.
 */
export function createReadGate(collection: GatedCollection, keepTexts: KeepTexts): ReadGate {
  const rules = [...collection.permissions.read.values()].filter((rule) => rule !== null)
  const known = new Map<string, ReadAccess>()
  return (asking) => {
    const mine = rules.filter(({ subject }) => appliesTo(subject, asking.caller))
    if (mine.length === 0) return null
    const bind = (): readonly BoundRule[] => mine.map((rule) => bindRule(rule, asking))
    if (mine.some(isPersonal)) return createAccess(collection, bind(), (write) => write)
    const key = keyOf(rules, mine)
    const access = known.get(key) ?? createAccess(collection, bind(), keepTexts)
    known.set(key, access)
    return access
  }
}

/** A key for the rules that are chosen among `rules`. */
const keyOf = <T>(rules: readonly T[], chosen: readonly T[]): string =>
  rules.map((rule) => (chosen.includes(rule) ? '1' : '0')).join('')

/** Whether a rule means different things for different callers or at different times. */
const isPersonal = ({ subject, where }: Rule): boolean => subject === OWNER || where.kind === 'bound'

function appliesTo(subject: string, caller: KnownCaller | null): boolean {
  if (subject === EVERYONE) return true
  if (caller === null) return false
  return subject === SIGNED_IN || subject === OWNER || caller.roles.includes(subject)
}

/** A rule's condition for a caller; that of `owner` holds only for documents that the caller created. */
function bindRuleWhere(rule: Rule, { caller, binding }: Asking): Filter {
  const where = bindWhere(rule.where, binding)
  if (rule.subject !== OWNER) return where
  return createdBy && caller ? and([{ kind: 'eq', field: createdBy, value: caller.id }, where]) : nothing
}

const createdBy = SYSTEM_FIELD_PLANS.find(({ name }) => name === 'createdBy')?.ref

const bindRule = (rule: Rule, asking: Asking): BoundRule => ({
  subject: rule.subject,
  properties: rule.properties,
  where: bindRuleWhere(rule, asking),
})

const topOf = (path: string): string => {
  const dot = path.indexOf('.')
  return dot < 0 ? path : path.slice(0, dot)
}

function createAccess(collection: GatedCollection, rules: readonly BoundRule[], keep: KeepTexts): ReadAccess {
  const filter = or(rules.map(({ where }) => where))
  let matchesFilter: Predicate | undefined
  let views: ((document: StoredDocument) => View) | undefined
  const viewOf = (document: StoredDocument): View => {
    views ??= compileViews(collection, rules, keep)
    return views(document)
  }
  const showing = (name: string): readonly BoundRule[] =>
    name === '_id' ? rules : rules.filter(({ properties }) => includesProperty(properties, name))
  let paths: readonly string[] | undefined
  return {
    storage: collection.storage,
    filter,
    parsePattern: collection.parsePattern,
    isReadable(document) {
      matchesFilter ??= isEverything(filter) ? () => true : compileFilter(filter)
      return matchesFilter(document)
    },
    find(path) {
      const field = collection.paths.get(path)
      return field && showing(topOf(path)).length > 0 ? field : undefined
    },
    isShownAlways: (field) => showing(topOf(field.path)).length === rules.length,
    guard(leaf) {
      const shown = showing(topOf(leaf.field.path))
      return shown.length === rules.length ? leaf : guardLeaf(shown, leaf)
    },
    get paths() {
      paths ??= [...collection.paths.keys()].filter((path) => showing(topOf(path)).length > 0)
      return paths
    },
    show: (document) => viewOf(document).show(document),
    write: (document) => viewOf(document).write(document),
    isShown: (document, name) => name === '_id' || viewOf(document).includes(name),
  }
}

/** A leaf is false for a missing value, so an AND hides its field where none of `rules` applies. */
const guardLeaf = (rules: readonly BoundRule[], leaf: Leaf): Filter =>
  and([or(rules.map(({ where }) => where)), leaf])

type Show = ReadAccess['show']

/** What the rules that match a document show of it. */
interface View {
  readonly includes: (name: string) => boolean
  readonly show: Show
  readonly write: WriteText
}

/** Compiles the view of a document: one for each set of rules that a document matches, on first use. */
function compileViews(
  collection: GatedCollection,
  rules: readonly BoundRule[],
  keep: KeepTexts,
): (document: StoredDocument) => View {
  const createView = (matching: readonly BoundRule[]): View => {
    const includes = (name: string): boolean =>
      matching.some(({ properties }) => includesProperty(properties, name))
    const show = compileShape(collection, includes)
    return { includes, show, write: keep((document) => JSON.stringify(show(document))) }
  }
  if (rules.length === 1) {
    const only = createView(rules)
    return () => only
  }
  const predicates = rules.map(
    ({ where }): Predicate => (isEverything(where) ? () => true : compileFilter(where)),
  )
  const views = new Map<string, View>()
  return (document) => {
    const matching = rules.filter((_, i) => predicates[i]?.(document))
    const key = keyOf(rules, matching)
    const known = views.get(key)
    if (known) return known
    const view = createView(matching)
    views.set(key, view)
    return view
  }
}

function compileShape(collection: GatedCollection, isShown: (name: string) => boolean): Show {
  const declared = collection.fields.filter((field) => field.type !== 'hash' && isShown(field.name))
  const system = SYSTEM_FIELD_PLANS.map(({ name }) => name).filter((name) => name !== '_id' && isShown(name))
  const known = new Set(collection.fields.map(({ name }) => name))
  return (document) => {
    // The names were checked, so none is `__proto__`: assignment defines an own property.
    const shown: { _id: string; [name: string]: unknown } = { _id: document._id }
    for (const field of declared) {
      if (Object.hasOwn(document, field.name)) shown[field.name] = showValue(field, document[field.name])
    }
    if (collection.additionalProperties) {
      for (const name of Object.keys(document).sort(compareText)) {
        const isOurs = name.startsWith('_') || isSystemField(name) || known.has(name)
        if (!isOurs && isShown(name)) shown[name] = orderNames(document[name])
      }
    }
    for (const name of system) if (Object.hasOwn(document, name)) shown[name] = document[name]
    return shown
  }
}

/** Hides undeclared properties inside an object too. A stored value of another type is shown as it is. */
function showValue(field: Field, value: unknown): unknown {
  if (field.type === 'object' && isObject(value)) return showProperties(field.properties, value)
  if (typeof value !== 'object') return value
  const { items } = field
  return items && Array.isArray(value) ? value.map((element) => showValue(items, element)) : orderNames(value)
}

const showProperties = (properties: readonly Field[], value: JsonObject): JsonObject =>
  Object.fromEntries(
    properties.flatMap((property): [string, unknown][] =>
      Object.hasOwn(value, property.name) ? [[property.name, showValue(property, value[property.name])]] : [],
    ),
  )
