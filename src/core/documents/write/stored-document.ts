import { HASHES } from '../../fields/names.js'
import { isSystemField } from '../../fields/schema/names.js'
import { drawFirstVersion } from '../../first-version.js'
import { freezeCopy } from '../../json/freeze-deep.js'
import { isObject, pickOwn, pickWhere, readOwn, setOwn } from '../../json/own-properties.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject } from '../../types.js'

/**
 * The key of the stamp in a user document. A session is valid only while it has the same stamp as its user
 * (CONTRACT.md §4).
 */
const STAMP = '_stamp'

/** Properties that never enter the log: no caller may see them, and hashes must not outlive their secrets. */
export const UNLOGGED: readonly string[] = [HASHES, STAMP]

/** The fields that the service sets. Times are in stored form. */
export interface SystemFields {
  readonly _id: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly createdBy: string | null
}

/** The parts of a new version of a stored document that are not fields. */
interface Making {
  readonly version: number
  /** The hashes by field. */
  readonly hashes: JsonObject | undefined
  readonly stamp: unknown
  /** Freezes the value of a property. */
  readonly freeze: <T>(value: T, name: string) => T
  /** Further internal properties. Default: none. */
  readonly others?: JsonObject
}

/** Creates the first version of a stored document: frozen, because the in-memory storage stores this object itself. */
export const createStoredDocument = (
  system: SystemFields,
  fields: JsonObject,
  { hashes = NO_HASHES, stamp }: MarkedChanges,
): StoredDocument =>
  putTogether(system, fields, {
    version: drawFirstVersion(),
    hashes: changeHashes(undefined, hashes),
    stamp,
    freeze: freezeCopy,
  })

/** Assembles a stored document and freezes it. */
function putTogether(
  { _id, createdAt, updatedAt, createdBy }: SystemFields,
  fields: JsonObject,
  { hashes, stamp, version, freeze, others = NONE }: Making,
): StoredDocument {
  // Properties are assigned one by one: a spread would cost three times as much, and reading its result would be slow.
  const document: { [name: string]: unknown; _id: string; _version?: number } = { _id }
  // The names were validated, so none is `__proto__`, and nothing is inherited.
  for (const name in fields) document[name] = freeze(fields[name], name)
  document.createdAt = createdAt
  document.updatedAt = updatedAt
  document.createdBy = createdBy
  document._version = version
  if (hashes) document[HASHES] = freeze(hashes, HASHES)
  if (stamp !== undefined) document[STAMP] = stamp
  for (const name of Object.keys(others)) setOwn(document, name, freeze(others[name], name))
  return Object.freeze(document) as StoredDocument
}

const NONE: JsonObject = {}

/** Returns the stamp of a user; empty for a document that was stored before the service kept accounts. */
export function readStamp(user: StoredDocument): string {
  const stamp = user[STAMP]
  return typeof stamp === 'string' ? stamp : ''
}

/** Returns the next version of a user document, with another stamp. */
export const renewStamp = (user: StoredDocument, stamp: string): StoredDocument => ({
  ...user,
  _version: user._version + 1,
  [STAMP]: stamp,
})

/** Returns the system fields of the next version of a document. `updatedAt` is in stored form. */
export const readSystem = ({ _id, createdAt, createdBy }: StoredDocument, updatedAt: string): SystemFields =>
  ({ _id, createdAt, updatedAt, createdBy }) as SystemFields

/** Returns the declared and undeclared fields of a document, without the service's own properties and the hashes. */
export const readFields = (document: JsonObject): JsonObject =>
  pickWhere(document, (name) => !name.startsWith('_') && !isSystemField(name))

/** The changed hashes, by field; `null` removes the hash of a field. */
export type HashChanges = ReadonlyMap<string, string | null>

export const NO_HASHES: HashChanges = new Map()

/** The changes to the hashes and the stamp of a document. Default: none. */
export interface MarkedChanges {
  readonly hashes?: HashChanges
  /** A new stamp if the secret changes. */
  readonly stamp?: string | undefined
}

/** Returns the next version of a document, with other fields. `updatedAt` is in stored form. */
export function updateStoredDocument(
  before: StoredDocument,
  fields: JsonObject,
  updatedAt: string,
  { hashes = NO_HASHES, stamp }: MarkedChanges = {},
): StoredDocument {
  const { _version, [HASHES]: old, [STAMP]: oldStamp } = before
  // Unknown internal properties are kept, because a newer release may have stored them.
  const others = Object.keys(before).filter((name) => name.startsWith('_') && !KNOWN.has(name))
  return putTogether(readSystem(before, updatedAt), fields, {
    hashes: changeHashes(isObject(old) ? old : undefined, hashes),
    stamp: stamp ?? oldStamp,
    version: _version + 1,
    // Unchanged values are used as the storage returned them, without a copy.
    freeze: (value, name) => (value === before[name] ? value : freezeCopy(value)),
    others: pickOwn(before, others),
  })
}

const KNOWN: ReadonlySet<string> = new Set(['_id', '_version', HASHES, STAMP])

/** Returns the hashes after some changes; `undefined` if none is left. */
function changeHashes(before: JsonObject | undefined, changes: HashChanges): JsonObject | undefined {
  if (changes.size === 0) return before
  const kept = new Map(Object.entries(before ?? {}))
  for (const [name, hash] of changes) {
    if (hash === null) kept.delete(name)
    else kept.set(name, hash)
  }
  return kept.size > 0 ? Object.fromEntries(kept) : undefined
}

/** Returns the next version of a document in which the same secret is hashed again. */
export const replaceHash = (before: StoredDocument, field: string, hash: string): StoredDocument => ({
  ...before,
  _version: before._version + 1,
  [HASHES]: { ...(isObject(before[HASHES]) ? before[HASHES] : {}), [field]: hash },
})

/** Returns the names of the fields whose hashes a document has. */
export function namesOfHashes(document: StoredDocument): readonly string[] {
  const hashes = document[HASHES]
  return isObject(hashes) ? Object.keys(hashes) : []
}

/** Returns the hash in a hash field. */
export function readHash(document: StoredDocument, field: string): string | undefined {
  const hashes = document[HASHES]
  const hash = isObject(hashes) ? readOwn(hashes, field) : undefined
  return typeof hash === 'string' ? hash : undefined
}
