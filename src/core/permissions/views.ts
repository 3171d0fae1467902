import { SYSTEM_FIELD_PLANS } from '../fields/compile-fields.js'
import type { Field } from '../fields/field-type.js'
import { isSystemField } from '../fields/schema/names.js'
import { compareText } from '../json/compare-text.js'
import { orderNames } from '../json/order-names.js'
import { isObject, thaw } from '../json/own-properties.js'
import { createBoundedMap } from '../kept/bounded-map.js'
import { CACHES } from '../kept/caches.js'
import type { StoredDocument } from '../storage.js'
import type { Document, JsonObject } from '../types.js'
import { includesProperty, type Rule } from './grants.js'
import type { FindText, KeepTexts } from './kept-texts.js'

/** The parts of a collection that a view needs. */
export interface ShownCollection {
  readonly fields: readonly Field[]
  readonly additionalProperties: boolean
  /** The names that undeclared properties cannot have. */
  readonly reserved: ReadonlySet<string>
}

/** Returns a document as it is shown, with `_id`. With `wanted`, only these of its properties. */
export type Show = (document: StoredDocument, wanted?: Names) => Document

/** Names of properties. */
interface Names {
  has(name: string): boolean
}

/** The part of a document that the matching rules show. */
export interface View {
  readonly includes: (name: string) => boolean
  readonly show: Show
  readonly keep: FindText
}

/** Returns the view of the rules that match a document. */
export type FindView = (matching: readonly Rule[]) => View

/** Identifies the rules `chosen` among `rules`. */
export const keyOf = (rules: readonly Rule[], chosen: readonly Rule[]): string =>
  rules.map((rule) => (chosen.includes(rule) ? '1' : '0')).join('')

/** The maximum number of views that are cached: documents may match any combination of rules. */
const MAX_VIEWS = 1024

/** Creates the views of a collection: one for each set of matching rules, when it is first needed. */
export function createViews(
  collection: ShownCollection,
  rules: readonly Rule[],
  keepTexts: KeepTexts,
): FindView {
  const views = createBoundedMap<string, View>(CACHES.views, MAX_VIEWS)
  return (matching) => {
    const key = keyOf(rules, matching)
    const known = views.get(key)
    if (known) return known
    const includes = (name: string): boolean =>
      matching.some(({ properties }) => includesProperty(properties, name))
    const show = compileShape(collection, includes)
    const view = { includes, show, keep: keepTexts((document) => JSON.stringify(show(document))) }
    views.set(key, view)
    return view
  }
}

function compileShape(collection: ShownCollection, isShown: (name: string) => boolean): Show {
  const declared = collection.fields.filter((field) => field.type !== 'hash' && isShown(field.name))
  const system = SYSTEM_FIELD_PLANS.map(({ name }) => name).filter((name) => name !== '_id' && isShown(name))
  const known = new Set(collection.fields.map(({ name }) => name))
  return (document, wanted) => {
    // Names are validated, so none is `__proto__`, and an assignment defines an own property.
    const shown: { _id: string; [name: string]: unknown } = { _id: document._id }
    for (const field of declared) {
      if (!Object.hasOwn(document, field.name) || wanted?.has(field.name) === false) continue
      const value = document[field.name]
      shown[field.name] = typeof value === 'object' ? showValue(field, value) : value
    }
    if (collection.additionalProperties) {
      for (const name of Object.keys(document).sort(compareText)) {
        const isOurs =
          name.startsWith('_') || isSystemField(name) || known.has(name) || collection.reserved.has(name)
        if (!isOurs && isShown(name) && wanted?.has(name) !== false) shown[name] = orderNames(document[name])
      }
    }
    for (const name of system) {
      if (Object.hasOwn(document, name) && wanted?.has(name) !== false) shown[name] = document[name]
    }
    return shown
  }
}

/** Hides undeclared properties inside an object too. A stored value of another type than its field is shown as is. */
function showValue(field: Field, value: unknown): unknown {
  if (field.type === 'object' && isObject(value)) return showProperties(field.properties, value)
  if (typeof value !== 'object') return value
  const { items } = field
  if (!items || !Array.isArray(value)) return orderNames(value)
  const elements = thaw(value)
  return elements.some(isNested) ? elements.map((element) => showValue(items, element)) : elements
}

const isNested = (value: unknown): boolean => typeof value === 'object'

function showProperties(properties: readonly Field[], value: JsonObject): JsonObject {
  // These names are validated too.
  const shown: { [name: string]: unknown } = {}
  for (const property of properties)
    if (Object.hasOwn(value, property.name)) shown[property.name] = showValue(property, value[property.name])
  return shown
}
