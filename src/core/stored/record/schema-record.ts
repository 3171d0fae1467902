import { digest } from '../../accounts/auth/token.js'
import type { Collection } from '../../config/plan.js'
import { isId } from '../../filter/filter.js'
import { drawFirstVersion } from '../../first-version.js'
import { readOwn } from '../../json/own-properties.js'
import type { Store } from '../../request/store.js'
import type { CollectionPlan, StoredDocument } from '../../storage.js'
import { describeNames, type StoredType } from './describe-names.js'

/** The internal collection of the record. The names of a configuration's collections cannot begin with `_`. */
const SCHEMA = '_schema'

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

/** Returns a text that identifies the stored names and the types of a configuration, in any order. */
export function identifyNames(collections: Iterable<Collection>): string {
  const names = Array.from(collections, (collection) =>
    describeNames(collection).map(({ path, type }) => [collection.storedName, pathKey(path), type].join(' ')),
  )
  return digest(JSON.stringify(names.flat().sort()))
}

/** The stored form of the record. A map is a list of its entries. */
interface StoredRecord extends Omit<SchemaRecord, 'names'> {
  readonly names: readonly (readonly [
    collection: string,
    paths: readonly (readonly [path: string, name: RecordedName])[],
  ])[]
}

/** Reads the record; `undefined` if there is none. */
export const readRecord = async (store: Store): Promise<SchemaRecord | undefined> =>
  parseRecord(await store.own(SCHEMA).first(isId(SCHEMA)))

function parseRecord(document: StoredDocument | undefined): SchemaRecord | undefined {
  const text = document && readOwn(document, 'record')
  if (typeof text !== 'string') return undefined
  const { names, ...others } = JSON.parse(text) as StoredRecord
  return { ...others, names: new Map(names.map(([name, paths]) => [name, new Map(paths)])) }
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
