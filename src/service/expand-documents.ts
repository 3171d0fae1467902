import type { Collection } from '../config/plan.js'
import { isObject, readOwn } from '../filter/read-path.js'
import type { KnownCaller } from '../permissions/caller.js'
import type { Field } from '../schema/field.js'
import type { JsonObject } from '../types.js'
import { gateOf } from './authorize.js'
import type { RequestScope, ServiceContext } from './context.js'
import { findReadable } from './references.js'

/**
 * Puts the documents that references name in the place of their ids, as the caller may read them (contract §2): one
 * query for each field. Where the caller may not, or there is none, the id stays.
 */
export async function expandDocuments(
  context: ServiceContext,
  scope: RequestScope,
  caller: KnownCaller | null,
  fields: readonly Field[],
  documents: readonly JsonObject[],
): Promise<readonly JsonObject[]> {
  let expanded = documents
  for (const field of fields) {
    const target = targetOf(context, field)
    const access = target && gateOf(context, target, caller)
    if (!access) continue
    const ids = new Set(documents.flatMap((document) => idsAt(document, field.path.split('.'))))
    const found = await findReadable(context, scope, target.name, access, ids)
    const shown = new Map([...found].map(([id, document]) => [id, access.show(document)]))
    expanded = expanded.map((document) => replaceIds(document, field.path.split('.'), shown))
  }
  return expanded
}

function targetOf({ plan }: ServiceContext, { definition, items }: Field): Collection | undefined {
  const inner = items?.definition ?? definition
  return inner.type === 'reference' ? plan.collections.get(inner.collection) : undefined
}

/** The ids at a path: one, or those of an array. */
function idsAt(value: unknown, [name, ...rest]: readonly string[]): readonly string[] {
  if (name !== undefined) return isObject(value) ? idsAt(readOwn(value, name), rest) : []
  return [value].flat().filter((id) => typeof id === 'string')
}

/** The document with what is at a path replaced, as far as there is something to replace it with. */
function replaceIds(
  document: JsonObject,
  [name = '', ...rest]: readonly string[],
  found: ReadonlyMap<string, JsonObject>,
): JsonObject {
  if (!Object.hasOwn(document, name)) return document
  const value = document[name]
  if (rest.length > 0) {
    return isObject(value) ? { ...document, [name]: replaceIds(value, rest, found) } : document
  }
  const replace = (id: unknown): unknown => (typeof id === 'string' ? (found.get(id) ?? id) : id)
  return { ...document, [name]: Array.isArray(value) ? value.map(replace) : replace(value) }
}
