import type { Collection } from '../config/plan.js'
import { readFields } from '../documents/write/stored-document.js'
import type { Field } from '../fields/field-type.js'
import { HIDDEN } from '../fields/names.js'
import { compareText } from '../json/compare-text.js'
import { freezeCopy, freezeDeep } from '../json/freeze-deep.js'
import { orderNames } from '../json/order-names.js'
import { isObject } from '../json/own-properties.js'
import type { KnownCaller } from '../permissions/caller.js'
import type { StoredDocument } from '../storage.js'
import type { Caller, Document, JsonObject } from '../types.js'
import type { PlannedDocument, PlannedWrite } from './where-hooked.js'

/**
 * Orders the properties of an object as in responses: first those of its schema, then the others by name (CONTRACT.md
 * §1).
 */
function orderProperties(fields: readonly Field[], value: JsonObject): JsonObject {
  const declared = new Map(fields.map((field) => [field.name, field]))
  const others = Object.keys(value)
    .filter((name) => !declared.has(name) && !name.startsWith(HIDDEN))
    .sort(compareText)
  const names = [...[...declared.keys()].filter((name) => Object.hasOwn(value, name)), ...others]
  return Object.fromEntries(names.map((name) => [name, orderValue(declared.get(name), value[name])]))
}

function orderValue(field: Field | undefined, value: unknown): unknown {
  if (field?.type === 'object' && isObject(value)) return orderProperties(field.properties, value)
  const items = field?.items
  return items && Array.isArray(value)
    ? value.map((element) => orderValue(items, element))
    : orderNames(value)
}

/** The documents of a write as a hook sees them. */
export interface ShownChange {
  readonly operation: 'create' | 'update' | 'delete'
  readonly before: Document | null
  readonly after: Document | null
}

/** Shows a write as its hook sees it. Both documents are complete except for hashes, and frozen. */
export function showChange({ collection, before, after }: PlannedWrite): ShownChange {
  const isHash = (name: string): boolean => collection.hashes.some((hash) => hash.name === name)
  const show = ({ fields, system }: PlannedDocument): Document => {
    const { _id, ...others } = system
    const open = Object.fromEntries(Object.entries(fields).filter(([name]) => !isHash(name)))
    return freezeDeep({ _id: String(_id), ...orderProperties(collection.fields, open), ...others })
  }
  const old = before && planned(before)
  return {
    operation: after === null ? 'delete' : before === null ? 'create' : 'update',
    before: old && show(old),
    after: after && show(after),
  }
}

/** Shows a committed write in the same form. */
export const showStored = (
  collection: Collection,
  before: StoredDocument | null,
  after: StoredDocument | null,
): ShownChange => showChange({ collection, before, after: after && planned(after) })

const planned = (document: StoredDocument): PlannedDocument => ({
  fields: readFields(document),
  system: readSystem(document),
})

const readSystem = ({ _id, createdAt, updatedAt, createdBy }: JsonObject): PlannedDocument['system'] => ({
  _id,
  createdAt,
  updatedAt,
  createdBy,
})

/** Shows a caller in the form in which a host identifies one. */
export function showCaller(caller: KnownCaller | null): Caller | null {
  if (caller === null) return null
  const { _id, ...fields } = caller.fields
  return freezeCopy({ ...fields, id: caller.id, roles: caller.roles })
}

/** Shows the caller of a write with full rights: only the id that the host has given. */
export const showSystem = (caller: KnownCaller | null): Caller | null =>
  caller && Object.freeze({ id: caller.id })
