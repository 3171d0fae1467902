import {
  COLLECTION_NAME,
  isFieldName,
  RESERVED_COLLECTION_NAMES,
} from '../../../../core/fields/schema/names.js'
import { isPlainObject } from '../../../../core/json/own-properties.js'
import { createIdSource } from '../../../../core/start/id-source.js'
import type { CollectionConfig, Config, FieldDefinition, JsonObject } from '../../../../core/types.js'
import { type Database, WrittenNumber } from './read-database.js'

/** A collection in the file whose documents can be referenced by their `id`. */
interface ImportTarget {
  readonly name: string
  /**
   * The `_id` of each document, by its `id` in the file as a string, because json-server finds the document with the id
   * `1` under `"1"` too.
   */
  readonly ids: ReadonlyMap<string, string>
}

/** A field whose values all reference documents of `target`. */
interface FoundReference {
  readonly target: ImportTarget
  /** Whether each value is an array of ids. */
  readonly isMany: boolean
}

/** A field with the name of a reference to `target`, and a value, `broken`, that references no document of `target`. */
interface BrokenReference {
  readonly target: ImportTarget
  readonly broken: unknown
}

const REFERENCE = /^(.+?)_?(Ids?|IDs?|ids?)$/

/** Irregular plurals, by singular. */
const PLURALS: { readonly [singular: string]: string } = {
  child: 'children',
  foot: 'feet',
  goose: 'geese',
  man: 'men',
  mouse: 'mice',
  person: 'people',
  tooth: 'teeth',
  woman: 'women',
}

/** Returns the possible plurals of a singular, in lower case. */
function pluralsOf(singular: string): readonly string[] {
  const word = singular.toLowerCase()
  const irregular = Object.entries(PLURALS).flatMap(([one, many]) =>
    word.endsWith(one) ? [word.slice(0, word.length - one.length) + many] : [],
  )
  return [
    ...irregular,
    `${word}s`,
    `${word}es`,
    ...(word.endsWith('y') ? [`${word.slice(0, -1)}ies`] : []),
    ...(word.endsWith('fe') ? [`${word.slice(0, -2)}ves`] : []),
    ...(word.endsWith('f') ? [`${word.slice(0, -1)}ves`] : []),
    word,
  ]
}

/**
 * Splits a name like `postId`, `post_id` or `postIds` into its parts. Returns `undefined` for a name that only has the
 * same ending, such as `paid` or `grids`.
 */
function splitName(field: string): { readonly base: string; readonly isMany: boolean } | undefined {
  const [, start = '', end = ''] = REFERENCE.exec(field) ?? []
  const base = start.replace(/_$/, '')
  if (base === '' || (/^i/.test(end) && !field.endsWith(`_${end}`))) return undefined
  return { base, isMany: end.endsWith('s') }
}

/** Whether a field's name says that its values are ids, so that numbers among them are never counts or measures. */
const isIdName = (field: string): boolean => /^_?id$/i.test(field) || splitName(field) !== undefined

/**
 * Finds the collection that the values of a field reference: `postId` or `post_id` references one document of `posts`,
 * `postIds` several. Returns `undefined` if the field has another name, or no value.
 */
function findTarget(
  field: string,
  documents: readonly JsonObject[],
  targets: readonly ImportTarget[],
): FoundReference | BrokenReference | undefined {
  const split = splitName(field)
  if (!split) return undefined
  const { base, isMany } = split
  const plurals = pluralsOf(base)
  const target = targets.find(({ name }) => plurals.includes(name.toLowerCase()))
  if (!target) return undefined
  const given = documents.flatMap((one) =>
    Object.hasOwn(one, field) && one[field] !== null ? [one[field]] : [],
  )
  if (given.length === 0) return undefined
  const oddlyShaped = isMany ? given.find((value) => !Array.isArray(value)) : undefined
  const named = isMany ? given.flat() : given
  const broken = oddlyShaped ?? named.find((value) => !isName(value) || !target.ids.has(toName(value)))
  if (broken !== undefined) return { target, broken }
  return named.length > 0 ? { target, isMany } : undefined
}

/** Whether the type of a value allows it to be an id. */
const isName = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'number' || value instanceof WrittenNumber

/** Returns an id as a string, as in the keys of `ids`. */
const toName = (value: unknown): string => (value instanceof WrittenNumber ? value.text : String(value))

/** The rules for the names of collections or fields. */
interface Naming {
  readonly isAllowed: (name: string) => boolean
  /** The name to use if no character is allowed. */
  readonly fallback: string
}

/** The maximum length of a name, in characters. */
const LENGTH = 63

/**
 * Maps each name to an allowed name; the results differ by more than letter case. An allowed name stays the same. Any
 * other name loses its invalid characters, and gets a number if the result is already used.
 */
function renameAll(names: readonly string[], { isAllowed, fallback }: Naming): ReadonlyMap<string, string> {
  const taken = new Set<string>()
  const renamed = new Map<string, string>()
  const take = (name: string, free: string): void => {
    taken.add(free.toLowerCase())
    renamed.set(name, free)
  }
  const isFree = (name: string): boolean => isAllowed(name) && !taken.has(name.toLowerCase())
  for (const name of names) if (isFree(name)) take(name, name)
  for (const name of names) {
    if (renamed.has(name)) continue
    const plain =
      name
        .replaceAll(/\W+/g, '_')
        .replace(/^[^a-zA-Z]+/, '')
        .slice(0, LENGTH) || fallback
    let free = plain
    for (let number = 2; !isFree(free); number++)
      free = `${plain.slice(0, LENGTH - 1 - String(number).length)}_${number}`
    take(name, free)
  }
  return renamed
}

/** The kind that all values of a field have in common. `null` has no kind, because it is stored as a missing value. */
type ValueKind =
  | 'boolean'
  | 'integer'
  | 'number'
  | 'long'
  | 'string'
  | 'timestamp'
  | 'array'
  | 'object'
  | 'mixed'
  | 'nothing'

function kindOf(value: unknown): Exclude<ValueKind, 'mixed' | 'nothing'> {
  if (Array.isArray(value)) return 'array'
  if (value instanceof Date) return 'timestamp'
  if (value instanceof WrittenNumber) return value.exact === undefined ? 'long' : kindOf(value.exact)
  if (isPlainObject(value)) return 'object'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value === 'boolean' ? 'boolean' : 'string'
}

function kindOfAll(values: readonly unknown[]): ValueKind {
  const kinds = new Set<ValueKind>(values.map(kindOf))
  if (kinds.has('number') || kinds.has('long')) kinds.delete('integer')
  if (kinds.has('long')) kinds.delete('number')
  const [kind = 'nothing', ...others] = kinds
  return others.length > 0 ? 'mixed' : kind
}

/**
 * Returns the definition that accepts all values of a field; its type is `json` if the values have no other type in
 * common. Whole numbers become `number`, because a later value may have a fraction, but `integer` if the field has the
 * name of an id. Numbers that a JSON number cannot hold exactly become strings.
 */
function inferDefinition(name: string, values: readonly unknown[]): FieldDefinition {
  const given = values.filter((value) => value !== null)
  const nullable = given.length < values.length ? { nullable: true } : {}
  const kind = kindOfAll(given)
  switch (kind) {
    case 'boolean':
    case 'number':
    case 'string':
    case 'timestamp':
      return { type: kind, ...nullable }
    case 'integer':
      return { type: isIdName(name) ? 'integer' : 'number', ...nullable }
    case 'long':
      return { type: 'string', ...nullable }
    case 'array':
      return { type: 'array', items: inferItems(name, given.flat()), ...nullable }
    case 'object':
      return { ...inferObject(given.filter(isPlainObject)), ...nullable }
    case 'mixed':
    case 'nothing':
      return { type: 'json', ...nullable }
    default:
      return kind satisfies never
  }
}

/**
 * Returns the definition of an array's elements: `json` if an element is `null`, because `json` stores `null`
 * unchanged.
 */
function inferItems(name: string, elements: readonly unknown[]): FieldDefinition {
  return elements.includes(null) ? { type: 'json' } : inferDefinition(name, elements)
}

function inferObject(objects: readonly JsonObject[]): FieldDefinition {
  const names = [...new Set(objects.flatMap((one) => Object.keys(one)))]
  const folded = new Set(names.map((name) => name.toLowerCase()))
  if (names.length === 0 || folded.size < names.length || !names.every(isFieldName)) return { type: 'json' }
  return {
    type: 'object',
    properties: Object.fromEntries(
      names.map((name) => [
        name,
        inferDefinition(
          name,
          objects.flatMap((one) => (Object.hasOwn(one, name) ? [one[name]] : [])),
        ),
      ]),
    ),
  }
}

/** Converts a value of the file to the JSON that is stored, such as a number to a string if the field has strings. */
function toStored(value: unknown, definition: FieldDefinition): unknown {
  if (value instanceof Date) return value.toISOString()
  if (value instanceof WrittenNumber)
    return definition.type === 'string' ? value.text : (value.exact ?? value.text)
  if (typeof value === 'number') return definition.type === 'string' ? String(value) : value
  if (Array.isArray(value)) {
    const items = definition.type === 'array' ? definition.items : ANY
    return value.map((one) => toStored(one, items))
  }
  if (!isPlainObject(value)) return value
  const properties: { readonly [name: string]: FieldDefinition } =
    definition.type === 'object' ? definition.properties : {}
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, toStored(one, properties[name] ?? ANY)]),
  )
}

const ANY: FieldDefinition = { type: 'json' }

/** An imported collection: its names in the file, and its new schema and documents. */
export interface ImportedCollection {
  /** The name of the collection in the file. */
  readonly from: string
  readonly name: string
  /** Whether the file had a single object instead of a list. */
  readonly isSingle: boolean
  readonly schema: CollectionConfig['schema']
  readonly documents: readonly JsonObject[]
  /** The new names of renamed fields, by the name in the file. */
  readonly renamed: ReadonlyMap<string, string>
  /** The new name of the field that is the key of the documents in the file; absent if there is none. */
  readonly key?: string
}

/** The result of an import. */
export interface Imported extends Pick<Database, 'isJsonServer'> {
  readonly config: Config & { readonly $schema: string }
  /** The documents of each collection, in the form of a seed. */
  readonly documents: { readonly [collection: string]: readonly JsonObject[] }
  readonly collections: readonly ImportedCollection[]
  /** Sentences about values that were changed or left out. */
  readonly losses: readonly string[]
}

/** A collection in the file, with a new `_id` (in `ids`) for each document. */
interface ReadCollection {
  readonly from: string
  readonly isSingle: boolean
  readonly documents: readonly JsonObject[]
  readonly ids: readonly string[]
  /** The field that is the key of the documents in the file: `id`, `_id`, or the field for the keys of a dictionary. */
  readonly idField: string
}

/**
 * Converts the content of a file to a configuration and documents. Lists of objects, and single objects, become
 * collections. The permissions allow everyone everything, as in json-server.
 */
export function importDatabase(database: Database, now: () => number = Date.now): Imported {
  const { values, isJsonServer, keyField } = database
  const losses: string[] = []
  const createId = createIdSource(now)
  const read = Object.entries(values).flatMap(([from, value]): readonly ReadCollection[] => {
    const documents = readDocuments(value)
    if (documents) {
      const ids = documents.map(() => createId())
      return [
        { from, isSingle: !Array.isArray(value), documents, ids, idField: keyField ?? idFieldOf(documents) },
      ]
    }
    if (from !== '$schema')
      losses.push(`${from} is ${wordFor(value)}: only objects and lists of objects are imported`)
    return []
  })
  const names = renameAll(
    read.map(({ from }) => from),
    COLLECTION_NAMING,
  )
  const targets = read.flatMap((collection) => targetOf(collection, losses))
  const collections = read.map((collection): ImportedCollection => {
    const { from, isSingle } = collection
    return {
      from,
      isSingle,
      name: names.get(from) ?? from,
      ...importCollection(collection, { targets, names, losses }),
    }
  })
  return {
    isJsonServer,
    config: {
      $schema: './node_modules/collection-service/dist/config.schema.json',
      collections: Object.fromEntries(
        collections.map(({ name, schema }) => [name, { schema, permissions: { '*': true } }]),
      ),
    },
    documents: Object.fromEntries(collections.map(({ name, documents }) => [name, documents])),
    collections,
    losses,
  }
}

const collectionName = new RegExp(COLLECTION_NAME)

const COLLECTION_NAMING: Naming = {
  isAllowed: (name) => collectionName.test(name) && !RESERVED_COLLECTION_NAMES.includes(name.toLowerCase()),
  fallback: 'collection',
}

const FIELD_NAMING: Naming = { isAllowed: isFieldName, fallback: 'field' }

function readDocuments(value: unknown): readonly JsonObject[] | undefined {
  if (isPlainObject(value)) return [value]
  return Array.isArray(value) && value.every(isPlainObject) ? value : undefined
}

/** Returns the key field of documents: `id`, or else `_id`, which is the key in MongoDB. */
const idFieldOf = (documents: readonly JsonObject[]): string =>
  documents.some((document) => Object.hasOwn(document, 'id')) ? 'id' : '_id'

const wordFor = (value: unknown): string =>
  Array.isArray(value) ? 'a list of other values' : JSON.stringify(toStored(value, { type: 'json' }))

/**
 * Returns a collection as a target of references, or an empty list if the id of a document is missing, repeated or
 * invalid.
 */
function targetOf(
  { from, documents, ids, idField }: ReadCollection,
  losses: string[],
): readonly ImportTarget[] {
  const given = documents.flatMap((one) => (Object.hasOwn(one, idField) ? [one[idField]] : []))
  if (given.length === 0) return []
  const named = new Map(documents.map((one, i) => [toName(one[idField]), ids[i] ?? '']))
  const isKey = given.length === documents.length && named.size === documents.length
  if (isKey && given.every(isName)) return [{ name: from, ids: named }]
  losses.push(
    `${from}.${idField} is not a different string or number in each document, so it is not unique here`,
  )
  return []
}

/** Returns a definition with `unique`; `undefined` if values of the definition can be missing or cannot be unique. */
function asKey(definition: FieldDefinition): FieldDefinition | undefined {
  switch (definition.type) {
    case 'string':
    case 'integer':
    case 'number':
      return definition.nullable ? undefined : { ...definition, unique: true }
    default:
      return undefined
  }
}

interface Context {
  readonly targets: readonly ImportTarget[]
  readonly names: ReadonlyMap<string, string>
  readonly losses: string[]
}

function importCollection(
  { from, documents, ids, idField }: ReadCollection,
  { targets, names, losses }: Context,
): Pick<ImportedCollection, 'schema' | 'documents' | 'renamed' | 'key'> {
  const fields = [...new Set(documents.flatMap((document) => Object.keys(document)))]
  const renamed = renameAll(fields, FIELD_NAMING)
  const isTarget = targets.some(({ name }) => name === from)
  const references = new Map<string, FoundReference>()
  let key: string | undefined
  const schema = new Map<string, FieldDefinition>()
  for (const field of fields) {
    const values = documents.flatMap((one) => (Object.hasOwn(one, field) ? [one[field]] : []))
    const plain = inferDefinition(field, values)
    const found = findTarget(field, documents, targets)
    losses.push(...describeLosses({ place: `${from}.${field}`, values, definition: plain }, found))
    const name = renamed.get(field) ?? field
    if (found && !('broken' in found)) {
      references.set(field, found)
      schema.set(name, referenceTo(names.get(found.target.name) ?? '', found, plain))
      continue
    }
    const unique = isTarget && field === idField ? asKey(plain) : undefined
    if (unique) key = name
    schema.set(name, unique ?? plain)
  }
  const refer = (field: string, value: unknown): unknown => {
    const idOf = (id: unknown): unknown => references.get(field)?.target.ids.get(toName(id)) ?? id
    return references.has(field) ? (Array.isArray(value) ? value.map(idOf) : idOf(value)) : value
  }
  const store = (field: string, value: unknown): [string, unknown] => {
    const name = renamed.get(field) ?? field
    return [name, toStored(refer(field, value), schema.get(name) ?? { type: 'json' })]
  }
  return {
    schema: Object.fromEntries(schema),
    renamed: new Map([...renamed].filter(([field, name]) => field !== name)),
    ...(key === undefined ? {} : { key }),
    documents: documents.map((document, i) => ({
      _id: ids[i] ?? '',
      ...Object.fromEntries(Object.entries(document).map(([field, value]) => store(field, value))),
    })),
  }
}

/**
 * Returns the definition of a reference, or of an array of references. It is `nullable` if the values of the field can
 * be `null`.
 */
function referenceTo(
  collection: string,
  { isMany }: FoundReference,
  { nullable }: FieldDefinition,
): FieldDefinition {
  const one: FieldDefinition = { type: 'reference', collection }
  return { ...(isMany ? { type: 'array', items: one } : one), ...(nullable ? { nullable } : {}) }
}

/** A field in the file with all its values, and the definition that accepts them. */
interface Inferred {
  readonly place: string
  readonly values: readonly unknown[]
  readonly definition: FieldDefinition
}

/** Returns sentences about what the import changes in the values of a field. */
function describeLosses(
  { place, values, definition }: Inferred,
  reference: BrokenReference | FoundReference | undefined,
): readonly string[] {
  const broken =
    reference && 'broken' in reference
      ? `${place} is not a reference: ${JSON.stringify(toStored(reference.broken, { type: 'json' }))} is not the id of a document of ${reference.target.name}`
      : []
  const isReference = reference !== undefined && !('broken' in reference)
  const losses = walk(place, definition, values).flatMap(
    ({ path, definition: { type, nullable }, isLong }) => [
      ...(nullable ? [`${path} is null in some documents: it is missing there after the import`] : []),
      ...(isLong && !isReference
        ? [
            `${path} is a string in all documents, because some values are numbers with more digits than a JSON number can hold`,
          ]
        : []),
      ...(type === 'json' && (!isReference || (path !== place && path !== `${place}[]`))
        ? [`${path} accepts any JSON, because its values have no common type: filters cannot compare it`]
        : []),
    ],
  )
  return losses.concat(broken)
}

interface Walked {
  readonly path: string
  readonly definition: FieldDefinition
  /** Whether numbers became strings. */
  readonly isLong: boolean
}

/** Returns a definition and all definitions that it contains, with their paths. */
function walk(path: string, definition: FieldDefinition, values: readonly unknown[]): readonly Walked[] {
  const isLong =
    definition.type === 'string' && values.some((value) => typeof value !== 'string' && value !== null)
  const here: Walked = { path, definition, isLong }
  if (definition.type === 'array') return [here, ...walk(`${path}[]`, definition.items, values.flat())]
  if (definition.type !== 'object') return [here]
  const objects = values.filter(isPlainObject)
  return [
    here,
    ...Object.entries(definition.properties).flatMap(([name, one]) =>
      walk(
        `${path}.${name}`,
        one,
        objects.flatMap((object) => (Object.hasOwn(object, name) ? [object[name]] : [])),
      ),
    ),
  ]
}
