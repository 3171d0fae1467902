import { and, type Filter, isEverything, type Leaf, or } from '../filter/filter.js'
import { compileFilter, type Predicate } from '../filter/matches.js'
import { isObject, type JsonObject } from '../filter/read-path.js'
import type { Readable } from '../query/compile-query.js'
import type { Field } from '../schema/field.js'
import { SYSTEM_FIELD_PLANS } from '../schema/field.js'
import { isSystemField } from '../schema/names.js'
import type { StoredDocument } from '../storage.js'
import type { Caller, Document } from '../types.js'
import { EVERYONE, includesProperty, OWNER, type PermissionTable, type Rule, SIGNED_IN } from './grants.js'

/** What a gate has to know of a collection. */
export interface GatedCollection {
  readonly fields: readonly Field[]
  readonly paths: ReadonlyMap<string, Field>
  readonly additionalProperties: boolean
  readonly permissions: PermissionTable
}

/**
 * What one caller may read of a collection: the only source of the rows and fields of any answer. Storage is asked with
 * `filter`, queries are compiled against it as their `Readable`, documents leave through `show`.
 */
export interface ReadAccess extends Readable {
  /** The documents that the caller may read. */
  readonly filter: Filter
  /** Whether the caller may read this document at all. */
  isReadable(document: StoredDocument): boolean
  /** A readable document as the caller may read it, in the order of contract §1. */
  show(document: StoredDocument): Document
}

/** Gives a caller's access, or `null` where no grant mentions the caller. */
export type ReadGate = (caller: Caller | null) => ReadAccess | null

/** Resolves reading rights (contract §5): they add up. All that does not depend on a caller's id is computed once. */
export function createReadGate(collection: GatedCollection): ReadGate {
  const { read } = collection.permissions
  const known = new Map<string, ReadAccess | null>()
  return (caller) => {
    const rules = selectRules(read, caller)
    const owned = caller !== null && rules.some(({ subject }) => subject === OWNER)
    if (owned)
      return createAccess(
        collection,
        rules.map((rule) => bindOwner(rule, caller.id)),
      )
    const key = rules.map(({ subject }) => subject).join('\n')
    const access = known.get(key)
    if (access !== undefined) return access
    const created = rules.length === 0 ? null : createAccess(collection, rules)
    known.set(key, created)
    return created
  }
}

function selectRules(read: PermissionTable['read'], caller: Caller | null): readonly Rule[] {
  const rules: Rule[] = []
  for (const [subject, rule] of read) if (rule && appliesTo(subject, caller)) rules.push(rule)
  return rules
}

function appliesTo(subject: string, caller: Caller | null): boolean {
  if (subject === EVERYONE) return true
  if (caller === null) return false
  return subject === SIGNED_IN || subject === OWNER || caller.roles?.includes(subject) === true
}

const createdBy = SYSTEM_FIELD_PLANS.find(({ name }) => name === 'createdBy')?.ref

/** The rule of owners, for one of them: only documents that this caller created. */
function bindOwner(rule: Rule, id: string): Rule {
  if (rule.subject !== OWNER || !createdBy) return rule
  return { ...rule, where: and([{ kind: 'eq', field: createdBy, value: id }, rule.where]) }
}

const topOf = (path: string): string => {
  const dot = path.indexOf('.')
  return dot < 0 ? path : path.slice(0, dot)
}

function createAccess(collection: GatedCollection, rules: readonly Rule[]): ReadAccess {
  const filter = or(rules.map(({ where }) => where))
  const matchesFilter = compileFilter(filter)
  const showing = (name: string): readonly Rule[] =>
    name === '_id' ? rules : rules.filter(({ properties }) => includesProperty(properties, name))
  let paths: readonly string[] | undefined
  return {
    filter,
    isReadable: matchesFilter,
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
    show: compileShow(collection, rules),
  }
}

/** A leaf is false on a missing value, so hiding its field where none of `rules` applies is an AND. */
const guardLeaf = (rules: readonly Rule[], leaf: Leaf): Filter =>
  and([or(rules.map(({ where }) => where)), leaf])

type Show = ReadAccess['show']

function compileShow(collection: GatedCollection, rules: readonly Rule[]): Show {
  const [only] = rules
  if (only && rules.length === 1) {
    const shape = compileShape(collection, (name) => includesProperty(only.properties, name))
    return (document) => shape(document)
  }
  // One shape for each set of rules that a document can match, made when it is first met.
  const predicates = rules.map(
    ({ where }): Predicate => (isEverything(where) ? () => true : compileFilter(where)),
  )
  const shapes = new Map<string, Show>()
  return (document) => {
    const matching = rules.filter((_, i) => predicates[i]?.(document))
    const key = matching.map(({ subject }) => subject).join('\n')
    let shape = shapes.get(key)
    if (!shape) {
      shape = compileShape(collection, (name) =>
        matching.some(({ properties }) => includesProperty(properties, name)),
      )
      shapes.set(key, shape)
    }
    return shape(document)
  }
}

function compileShape(collection: GatedCollection, isShown: (name: string) => boolean): Show {
  const declared = collection.fields.filter((field) => field.type !== 'hash' && isShown(field.name))
  const system = SYSTEM_FIELD_PLANS.map(({ name }) => name).filter((name) => name !== '_id' && isShown(name))
  const known = new Set(collection.fields.map(({ name }) => name))
  return (document) => {
    // Names are vetted: none is `__proto__`, so assignment defines.
    const shown: { _id: string; [name: string]: unknown } = { _id: document._id }
    for (const field of declared) {
      if (Object.hasOwn(document, field.name)) shown[field.name] = showValue(field, document[field.name])
    }
    if (collection.additionalProperties) {
      for (const name of Object.keys(document)) {
        const isOurs = name.startsWith('_') || isSystemField(name) || known.has(name)
        if (!isOurs && isShown(name)) shown[name] = document[name]
      }
    }
    for (const name of system) if (Object.hasOwn(document, name)) shown[name] = document[name]
    return shown
  }
}

/** What is no longer declared inside an object is not shown either; what is of another type is, as it is. */
function showValue(field: Field, value: unknown): unknown {
  if (field.type === 'object' && isObject(value)) return showProperties(field.properties, value)
  const { items } = field
  if (items && (items.type === 'object' || items.type === 'array') && Array.isArray(value)) {
    return value.map((element) => showValue(items, element))
  }
  return value
}

const showProperties = (properties: readonly Field[], value: JsonObject): JsonObject =>
  Object.fromEntries(
    properties.flatMap((property): [string, unknown][] =>
      Object.hasOwn(value, property.name) ? [[property.name, showValue(property, value[property.name])]] : [],
    ),
  )
