import type { Collection, ServicePlan } from '../../../../core/config/plan.js'
import type { Field } from '../../../../core/fields/field-type.js'
import { USERS } from '../../../../core/fields/schema/names.js'
import { isEqualJson } from '../../../../core/json/equality.js'
import { isObject } from '../../../../core/json/own-properties.js'
import { toPointerPart, toPointerParts } from '../../../../core/json/pointer.js'
import type { JsonObject } from '../../../../core/types.js'
import type { Difference, StructureDifference, Witness, WitnessCaller, WitnessRequest } from '../types.js'
import type { CollectionMatch, FieldMatches, Matches } from './match-names.js'
import type { Renaming } from './rename-config.js'

/** The names of a comparison, and the plan of `after`, whose names are the common ones. */
export interface ComparedNames extends Renaming {
  readonly after: ServicePlan
  /** Whether the host identifies callers, so that their fields are not those of `users`. */
  readonly isHosted: boolean
}

/** Returns a difference that was found under common names, with the names of the two configurations. */
export function restoreNames(difference: Difference, names: ComparedNames): Difference {
  if ('pointer' in difference) return restoreStructure(difference, names)
  const collection = nameOf(difference.collection, names)
  if (!('witness' in difference)) return { ...difference, collection }
  return { ...difference, collection, witness: restoreWitness(difference.witness, names) }
}

/** A matched collection, and its name in `before`. */
type NamedMatch = readonly [name: string, match: CollectionMatch]

const findMatch = (matches: Matches, common: string): NamedMatch | undefined =>
  [...matches].find(([, match]) => match.common === common)

/** Returns the name of a collection in `after`, or in `before` if `after` lacks it. */
const nameOf = (common: string, { matches, after }: ComparedNames): string =>
  after.collections.has(common) ? common : (findMatch(matches, common)?.[0] ?? common)

function restoreStructure(difference: StructureDifference, names: ComparedNames): StructureDifference {
  const follows = difference.follows.map((text) =>
    text.replace(/\/collections(\/[^/]+)/, (_, part: string) => {
      const [common = ''] = toPointerParts(part)
      return `/collections${toPointerPart(nameOf(common, names))}`
    }),
  )
  const isRemoved = difference.after === undefined
  return {
    ...difference,
    pointer: isRemoved ? restorePointer(difference.pointer, names) : difference.pointer,
    follows,
  }
}

/** Returns the pointer in `before` of a part that `after` lacks. */
function restorePointer(pointer: string, { matches }: ComparedNames): string {
  const [top, common = '', part, ...rest] = toPointerParts(pointer)
  const found = top === 'collections' ? findMatch(matches, common) : undefined
  if (!found) return pointer
  const [name, { fields }] = found
  const parts = [top, name, part, ...(part === 'schema' ? restorePath(fields, rest) : rest)]
  return parts.map((one) => (one === undefined ? '' : toPointerPart(one))).join('')
}

function restorePath(fields: FieldMatches, [first, ...rest]: readonly string[]): readonly string[] {
  if (first === undefined) return []
  const [name, { inside }] = [...fields].find(([, one]) => one.common === first) ?? [first, { inside: NONE }]
  const depth = rest.findIndex((part) => part !== 'items')
  return depth !== -1 && rest[depth] === 'properties'
    ? [name, ...rest.slice(0, depth + 1), ...restorePath(inside, rest.slice(depth + 1))]
    : [name, ...rest]
}

const NONE: FieldMatches = new Map()

function restoreWitness(witness: Witness, names: ComparedNames): Witness {
  const { matches, after } = names
  const was: Witness = {
    ...witness,
    caller: restoreCaller(witness.caller, names),
    documents: mapDocuments(witness, (common, document) => {
      const [name, match] = findMatch(matches, common) ?? [common]
      return [name, match ? restoreDocument(match, after.collections.get(common), document) : document]
    }),
    request: restoreRequest(witness.request, (common, body) => {
      const [name, match] = findMatch(matches, common) ?? [common]
      return [name, match ? restoreDocument(match, after.collections.get(common), body) : body]
    }),
  }
  const keep = (common: string, document: JsonObject): readonly [string, JsonObject] => {
    const collection = after.collections.get(common)
    const [name, match] = findMatch(matches, common) ?? [common]
    return collection ? [common, keepOwn(collection, match, document)] : [name, document]
  }
  const documentsAfter = mapDocuments(witness, keep)
  const requestAfter = restoreRequest(witness.request, keep)
  return {
    ...was,
    ...(isEqualJson(was.caller, witness.caller) ? {} : { callerAfter: witness.caller }),
    ...(isEqualJson(was.documents, documentsAfter) ? {} : { documentsAfter }),
    ...(isEqualJson(was.request, requestAfter) ? {} : { requestAfter }),
  }
}

/** Returns a document or a body of one configuration, with the name of its collection there. */
type Restore = (common: string, document: JsonObject) => readonly [name: string, document: JsonObject]

const mapDocuments = ({ documents }: Witness, restore: Restore): Witness['documents'] =>
  Object.fromEntries(
    Object.entries(documents).map(([common, all]) => {
      const restored = all.map((document) => restore(common, document))
      return [restored[0]?.[0] ?? restore(common, {})[0], restored.map(([, document]) => document)]
    }),
  )

function restoreRequest({ path, body, ...others }: WitnessRequest, restore: Restore): WitnessRequest {
  const [, common = '', ...rest] = path.split('/')
  const [name, restored] = restore(common, body ?? {})
  return { ...others, path: ['', name, ...rest].join('/'), ...(body ? { body: restored } : {}) }
}

/** Returns a document by the names of `before`, without the values for which `before` has no name. */
function restoreDocument(
  { fields }: CollectionMatch,
  after: Collection | undefined,
  document: JsonObject,
): JsonObject {
  const others = new Set(after?.fields.map(({ name }) => name))
  return restoreObject(fields, document, (name) => (others.has(name) ? undefined : name))
}

/** Renames the properties of an object to those of `before`. `nameElse` returns the names of undeclared properties. */
function restoreObject(
  fields: FieldMatches,
  object: JsonObject,
  nameElse: (name: string) => string | undefined,
): JsonObject {
  return Object.fromEntries(
    Object.entries(object).flatMap(([common, value]): [string, unknown][] => {
      const [name, match] = [...fields].find(([, one]) => one.common === common) ?? [nameElse(common)]
      if (name === undefined) return []
      return [[name, match ? restoreValue(match.inside, value) : value]]
    }),
  )
}

function restoreValue(inside: FieldMatches, value: unknown): unknown {
  if (inside.size === 0) return value
  if (Array.isArray(value)) return value.map((element) => restoreValue(inside, element))
  return isObject(value) ? restoreObject(inside, value, () => undefined) : value
}

/** Returns a document without the values for which `after` has no name. */
function keepOwn(after: Collection, match: CollectionMatch | undefined, document: JsonObject): JsonObject {
  const others = new Set(Array.from(match?.fields.values() ?? [], ({ common }) => common))
  return keepDeclared(after.fields, document, (name) => !others.has(name))
}

function keepDeclared(
  fields: readonly Field[],
  object: JsonObject,
  isElse: (name: string) => boolean,
): JsonObject {
  return Object.fromEntries(
    Object.entries(object).flatMap(([name, value]): [string, unknown][] => {
      const field = fields.find((one) => one.name === name)
      if (field) return [[name, keepInside(field, value)]]
      return isElse(name) ? [[name, value]] : []
    }),
  )
}

function keepInside({ items, properties }: Field, value: unknown): unknown {
  if (items) return Array.isArray(value) ? value.map((element) => keepInside(items, element)) : value
  return properties.length > 0 && isObject(value) ? keepDeclared(properties, value, () => false) : value
}

/** Returns a caller by the names of `before`. */
function restoreCaller(caller: WitnessCaller, { matches, claims, isHosted }: ComparedNames): WitnessCaller {
  if (!caller) return caller
  const claimed = new Map(Array.from(claims, ([name, common]) => [common, name]))
  const fields = isHosted ? NONE : (matches.get(USERS)?.fields ?? NONE)
  const { id, roles, ...others } = caller
  return { ...restoreObject(fields, others, (name) => claimed.get(name) ?? name), id, roles }
}
