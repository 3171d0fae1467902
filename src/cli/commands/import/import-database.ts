import { isObject } from '../../../json/own-properties.js'
import { COLLECTION_NAME, isFieldName, RESERVED_COLLECTION_NAMES } from '../../../schema/names.js'
import { createIdSource } from '../../../service/start/id-source.js'
import type { CollectionConfig, Config, FieldDefinition, JsonObject } from '../../../types.js'
import { type BrokenReference, type FoundReference, findTarget, type Target } from './find-targets.js'
import { inferDefinition } from './infer-definition.js'
import { type Naming, renameAll } from './rename.js'

/** A collection as it was in the file, and as it is now. */
export interface ImportedCollection {
  /** The key in the file. */
  readonly from: string
  readonly name: string
  /** Whether the file had one object where a list could stand. */
  readonly isSingle: boolean
  readonly schema: CollectionConfig['schema']
  readonly documents: readonly JsonObject[]
  /** The fields with another name, by the name in the file. */
  readonly renamed: ReadonlyMap<string, string>
}

/** What became of a file of json-server. */
export interface Imported {
  readonly config: Config & { readonly $schema: string }
  /** The documents, as a seed takes them. */
  readonly documents: { readonly [collection: string]: readonly JsonObject[] }
  readonly collections: readonly ImportedCollection[]
  /** What could not be taken as it was, in words. */
  readonly losses: readonly string[]
}

/** A collection of the file, with documents that have an `_id`. */
interface Read {
  readonly from: string
  readonly isSingle: boolean
  readonly documents: readonly JsonObject[]
  readonly ids: readonly string[]
}

/**
 * Makes a configuration and documents of the content of a json-server file: an object of lists, or of single
 * objects. Everyone may do everything, as with json-server.
 */
export function importDatabase(database: JsonObject, now: () => number = Date.now): Imported {
  const losses: string[] = []
  const createId = createIdSource(now)
  const read = Object.entries(database).flatMap(([from, value]): readonly Read[] => {
    const documents = readDocuments(value)
    if (documents)
      return [{ from, isSingle: !Array.isArray(value), documents, ids: documents.map(() => createId()) }]
    if (from !== '$schema')
      losses.push(`${from} is ${wordFor(value)}: only lists of objects, and objects, are taken`)
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
  if (isObject(value)) return [value]
  return Array.isArray(value) && value.every(isObject) ? value : undefined
}

const wordFor = (value: unknown): string =>
  Array.isArray(value) ? 'a list of other values' : JSON.stringify(value)

/** The collection as a target of references; none where an `id` is missing, repeated or no name. */
function targetOf({ from, documents, ids }: Read, losses: string[]): readonly Target[] {
  const given = documents.flatMap(({ id }) => (id === undefined ? [] : [id]))
  if (given.length === 0) return []
  const named = new Map(documents.map(({ id }, i) => [String(id), ids[i] ?? '']))
  const isKey = given.length === documents.length && named.size === documents.length
  if (isKey && given.every((id) => typeof id === 'string' || typeof id === 'number'))
    return [{ name: from, ids: named }]
  losses.push(`${from}.id does not name each document by one text or number: it is not unique here`)
  return []
}

/** A definition whose values are all there and can be unique. */
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
  readonly targets: readonly Target[]
  readonly names: ReadonlyMap<string, string>
  readonly losses: string[]
}

function importCollection(
  { from, documents, ids }: Read,
  { targets, names, losses }: Context,
): Pick<ImportedCollection, 'schema' | 'documents' | 'renamed'> {
  const fields = [...new Set(documents.flatMap((document) => Object.keys(document)))]
  const renamed = renameAll(fields, FIELD_NAMING)
  const isTarget = targets.some(({ name }) => name === from)
  const references = new Map<string, FoundReference>()
  const schema = fields.map((field): [string, FieldDefinition] => {
    const plain = inferDefinition(documents.flatMap((one) => (Object.hasOwn(one, field) ? [one[field]] : [])))
    const found = findTarget(field, documents, targets)
    losses.push(...describeLosses(`${from}.${field}`, plain, found))
    const name = renamed.get(field) ?? field
    if (!found || 'broken' in found) return [name, (isTarget && field === 'id' && asKey(plain)) || plain]
    references.set(field, found)
    return [name, referenceTo(names.get(found.target.name) ?? '', found, plain)]
  })
  const refer = (field: string, value: unknown): unknown => {
    const idOf = (id: unknown): unknown => references.get(field)?.target.ids.get(String(id)) ?? id
    return references.has(field) ? (Array.isArray(value) ? value.map(idOf) : idOf(value)) : value
  }
  return {
    schema: Object.fromEntries(schema),
    renamed: new Map([...renamed].filter(([field, name]) => field !== name)),
    documents: documents.map((document, i) => ({
      _id: ids[i] ?? '',
      ...Object.fromEntries(
        Object.entries(document).map(([field, value]) => [renamed.get(field) ?? field, refer(field, value)]),
      ),
    })),
  }
}

/** A reference, or an array of them; `null` is what it was among the plain values. */
function referenceTo(
  collection: string,
  { isMany }: FoundReference,
  { nullable }: FieldDefinition,
): FieldDefinition {
  const one: FieldDefinition = { type: 'reference', collection }
  return { ...(isMany ? { type: 'array', items: one } : one), ...(nullable ? { nullable } : {}) }
}

/** What is lost of a field that became what it is. */
function describeLosses(
  place: string,
  definition: FieldDefinition,
  reference: BrokenReference | FoundReference | undefined,
): readonly string[] {
  const broken =
    reference && 'broken' in reference
      ? `${place} is not a reference: ${JSON.stringify(reference.broken)} is not the id of a document of ${reference.target.name}`
      : []
  const isReference = reference !== undefined && !('broken' in reference)
  const losses = walk(place, definition).flatMap(([path, { type, nullable }]) => [
    ...(nullable ? [`${path} holds null: such a field is not there`] : []),
    ...(type === 'json' && (!isReference || (path !== place && path !== `${place}[]`))
      ? [`${path} is any JSON, for its values do not tell one type: filters cannot ask about it`]
      : []),
  ])
  return losses.concat(broken)
}

/** A definition and all inside it, with their places. */
function walk(place: string, definition: FieldDefinition): readonly (readonly [string, FieldDefinition])[] {
  const inside =
    definition.type === 'array'
      ? walk(`${place}[]`, definition.items)
      : definition.type === 'object'
        ? Object.entries(definition.properties).flatMap(([name, one]) => walk(`${place}.${name}`, one))
        : []
  return [[place, definition], ...inside]
}
