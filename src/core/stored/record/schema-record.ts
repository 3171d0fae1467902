import type { Collection } from '../../config/plan.js'
import { everything, isId } from '../../filter/filter.js'
import { drawFirstVersion } from '../../first-version.js'
import { digest } from '../../json/digest.js'
import { readOwn } from '../../json/own-properties.js'
import type { Store } from '../../request/store.js'
import type { CollectionPlan, IndexPlan, StoredDocument } from '../../storage.js'
import { storedPlan } from '../names/renamed-storage.js'
import { describeNames, type StoredName, type StoredType } from './describe-names.js'

/** The internal collection of the record. The names of a configuration's collections cannot begin with `_`. */
export const SCHEMA = '_schema'

/** The storage plan of this collection. */
export const SCHEMA_PLAN: CollectionPlan = { name: SCHEMA, indexes: [] }

/** What the record knows of a stored name. */
export interface RecordedName {
  readonly type: StoredType
  /** The number of the last configuration that declared it. */
  readonly last: number
}

/** The stored names that configurations have declared so far, by collection and path (see `pathKey`). */
export type RecordedNames = ReadonlyMap<string, ReadonlyMap<string, RecordedName>>

/** The record of the configurations that a storage has had. */
export interface SchemaRecord {
  /** The number of the last configuration: 1 for the first one. */
  readonly number: number
  /** Identifies the names and types of the last configuration, and of the one before it. */
  readonly current: string
  readonly previous: string | null
  readonly names: RecordedNames
  /** The unique indexes of the last configuration (see `uniqueKey`). */
  readonly uniques: readonly string[]
  /** The names whose values of `fill` all documents have got, or had when a configuration first declared `fill`. */
  readonly filled: readonly string[]
  /** The migrations that are finished, in the order in which they were. */
  readonly finished: readonly string[]
  /** The names whose values were erased (see `eraseKey`). */
  readonly erased: readonly string[]
  /** The unique indexes that were dropped, and that no process has created again (see `uniqueFieldsKey`). */
  readonly droppedUniques: readonly string[]
  /** What the last configuration no longer declares, although documents have it. */
  readonly dropped: readonly Dropped[]
}

/** A stored name or collection that no configuration declares any more: a warning of each start. */
export interface Dropped {
  /** The JSON pointer in the configuration. */
  readonly pointer: string
  readonly message: string
}

/** The key of a path in the record: its steps, joined by `.`. */
export const pathKey = (path: readonly string[]): string => path.join('.')

/** The key of a name with `fill` in the record. */
export const fillKey = (collection: string, { path }: Pick<StoredName, 'path'>): string =>
  `${collection} ${pathKey(path)}`

/** The key of a top-level name whose values are erased. */
export const eraseKey = (collection: string, name: string): string => `${collection} ${name}`

/** Returns the keys of the names that a configuration erases in a collection. */
export const listErased = ({
  storedName,
  erase,
}: Pick<Collection, 'storedName' | 'erase'>): readonly string[] =>
  erase.map((name) => eraseKey(storedName, name))

/** The key of a unique index in the record, by stored names. */
export const uniqueKey = ({ storedName }: Pick<Collection, 'storedName'>, { fields }: IndexPlan): string =>
  [storedName, ...fields.map(({ path, type }) => `${path}:${type}`)].join(' ')

/** The key of the fields of a unique index in any order and of any types, by stored names. */
export const uniqueFieldsKey = (collection: string, fields: readonly string[]): string =>
  [collection, ...[...fields].sort()].join(' ')

/** Returns the key of the fields of a unique index from its own key (see `uniqueKey`). */
export function fieldsOfUnique(key: string): string {
  const [collection = '', ...fields] = key.split(' ')
  return uniqueFieldsKey(
    collection,
    fields.map((field) => field.slice(0, field.lastIndexOf(':'))),
  )
}

/** Returns the keys of the unique indexes of a configuration. */
export const listUniques = (collections: Iterable<Collection>): readonly string[] =>
  Array.from(collections, (collection) =>
    storedPlan(collection).indexes.flatMap((index) => (index.unique ? [uniqueKey(collection, index)] : [])),
  ).flat()

/**
 * Returns a text that identifies the stored names, types, normal forms, unique indexes and `fill`s of a configuration, in
 * any order.
 */
export function identifyNames(collections: Iterable<Collection>): string {
  const all = [...collections]
  const names = all.flatMap((collection) =>
    describeNames(collection).map((name) =>
      [collection.storedName, pathKey(name.path), name.type, ...stepsOf(name)].join(' '),
    ),
  )
  return digest(JSON.stringify([names.sort(), [...listUniques(all)].sort()]))
}

/** Returns the attributes of a field because of which a run may change stored documents. */
const stepsOf = ({ field: { definition } }: StoredName): readonly string[] =>
  ['fill', 'trim', 'lowercase'].filter((name) => readOwn({ ...definition }, name) !== undefined)

/** Returns the keys of the names of a configuration that have `fill` or a normal form. */
export const listSteps = (collections: Iterable<Collection>): readonly string[] =>
  Array.from(collections, (collection) =>
    describeNames(collection).flatMap((name) =>
      stepsOf(name).map((step) => [collection.storedName, pathKey(name.path), step].join(' ')),
    ),
  ).flat()

/** The stored form of the record. A map is a list of its entries. */
interface StoredRecord extends Omit<SchemaRecord, 'names'> {
  readonly names: readonly (readonly [
    collection: string,
    paths: readonly (readonly [path: string, name: RecordedName])[],
  ])[]
}

/** The record of a storage that no configuration has had yet. */
const NO_RECORD: SchemaRecord = {
  number: 0,
  current: '',
  previous: null,
  names: new Map(),
  uniques: [],
  filled: [],
  finished: [],
  erased: [],
  droppedUniques: [],
  dropped: [],
}

/** Reads the record; `undefined` if there is none. */
export const readRecord = async (store: Store): Promise<SchemaRecord | undefined> =>
  parseRecord(await store.own(SCHEMA).first(isId(SCHEMA)))

/** Returns the record that a stored document contains; `undefined` if there is none. */
export function parseRecord(document: StoredDocument | undefined): SchemaRecord | undefined {
  const text = document && readOwn(document, 'record')
  if (typeof text !== 'string') return undefined
  const { names, ...others } = JSON.parse(text) as StoredRecord
  return { ...NO_RECORD, ...others, names: new Map(names.map(([name, paths]) => [name, new Map(paths)])) }
}

/**
 * Replaces the record by the result of `renew`, which is called again if another process has written a record meanwhile.
 * Writes nothing if it returns the record that it received. Returns the record.
 */
export const renewRecord = async (
  store: Store,
  renew: (record: SchemaRecord | undefined) => Promise<SchemaRecord>,
): Promise<SchemaRecord> =>
  store.write(async () => {
    const before = await store.own(SCHEMA).first(isId(SCHEMA))
    const known = parseRecord(before)
    const record = await renew(known)
    if (record === known) return { steps: [], done: record }
    const names = Array.from(record.names, ([name, paths]) => [name, [...paths]] as const)
    const stored: StoredRecord = { ...record, names }
    const document: StoredDocument = {
      _id: SCHEMA,
      _version: before ? before._version + 1 : drawFirstVersion(),
      record: JSON.stringify(stored),
    }
    const step = before
      ? { in: SCHEMA, replace: document, version: before._version }
      : { in: SCHEMA, insert: document }
    // If another process came first, the next attempt reads its record.
    return { steps: [step], done: record, refuse: () => undefined }
  })

/** Records that all documents of a stored collection have the values of `fill` of some names. */
export async function noteFilled(
  store: Store,
  collection: string,
  names: readonly StoredName[],
): Promise<void> {
  const keys = names.map((name) => fillKey(collection, name))
  const isKnown = ({ filled }: SchemaRecord): boolean => keys.every((key) => filled.includes(key))
  const known = await readRecord(store)
  if (keys.length === 0 || (known && isKnown(known))) return
  await renewRecord(store, async (record = NO_RECORD) =>
    isKnown(record) ? record : { ...record, filled: [...new Set([...record.filled, ...keys])] },
  )
}

/** Records that a migration is finished. */
export const noteFinished = async (store: Store, migration: string): Promise<void> => {
  await renewRecord(store, async (record = NO_RECORD) =>
    record.finished.includes(migration) ? record : { ...record, finished: [...record.finished, migration] },
  )
}

/** Records that names are erased. */
export const noteErased = async (store: Store, keys: readonly string[]): Promise<void> => {
  await renewRecord(store, async (record = NO_RECORD) => ({
    ...record,
    erased: [...new Set([...record.erased, ...keys])],
  }))
}

/** Records that a unique index was dropped. `key` is that of its fields. */
export const noteDropped = async (store: Store, key: string): Promise<void> => {
  await renewRecord(store, async (record = NO_RECORD) => ({
    ...record,
    uniques: record.uniques.filter((unique) => fieldsOfUnique(unique) !== key),
    droppedUniques: [...new Set([...record.droppedUniques, key])],
  }))
}

/** Records that a process has created the unique indexes of its configuration, if some of them had been dropped. */
export async function noteCreated(store: Store, collections: Iterable<Collection>): Promise<void> {
  const uniques = listUniques(collections)
  const created = new Set(uniques.map(fieldsOfUnique))
  const isCreated = (key: string): boolean => created.has(key)
  if (!(await readRecord(store))?.droppedUniques.some(isCreated)) return
  await renewRecord(store, async (record = NO_RECORD) => ({
    ...record,
    uniques: [...new Set([...record.uniques, ...uniques])],
    droppedUniques: record.droppedUniques.filter((key) => !isCreated(key)),
  }))
}

/** Whether a storage has no documents of a configuration. */
export async function isEmptyStorage(store: Store, collections: Iterable<Collection>): Promise<boolean> {
  for (const { storedName } of collections)
    if ((await store.own(storedName).count(everything)) > 0) return false
  return true
}
