import { isObject, readOwn } from '../../json/own-properties.js'
import { isSystemField } from '../../schema/names.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject } from '../../types.js'

/**
 * Where hashes lie in a stored document: apart from its fields, under a name that no field can have. So they are never
 * shown, compared or copied, whatever a later configuration declares (CONTRACT.md §1).
 */
const HASHES = '_hashes'

/** Where a user document holds its stamp. A session counts only while it holds the same one (CONTRACT.md §4). */
const STAMP = '_stamp'

/** What the service itself puts into a document. Times in stored form. */
export interface SystemFields {
  readonly _id: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly createdBy: string | null
}

/** What a document holds that no field does. */
interface Marks {
  /** By field. */
  readonly hashes?: JsonObject
  readonly stamp?: string | undefined
}

/** A document as it is stored for the first time. */
export function createStoredDocument(
  { _id, ...system }: SystemFields,
  fields: JsonObject,
  { hashes, stamp }: Marks,
): StoredDocument {
  const marked = hashes ? { [HASHES]: hashes } : {}
  const stamped = stamp === undefined ? {} : { [STAMP]: stamp }
  return { _id, ...fields, ...system, _version: 1, ...marked, ...stamped }
}

/** The stamp of a user; empty in a document from before there were accounts. */
export function readStamp(user: StoredDocument): string {
  const stamp = user[STAMP]
  return typeof stamp === 'string' ? stamp : ''
}

/** The user document with another stamp, as the version that follows. */
export const renewStamp = (user: StoredDocument, stamp: string): StoredDocument => ({
  ...user,
  _version: user._version + 1,
  [STAMP]: stamp,
})

/** The declared and undeclared fields of a document: neither those of the service nor hashes. */
export const readFields = (document: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(document).filter(([name]) => !name.startsWith('_') && !isSystemField(name)),
  )

/** What an update makes of the marked parts of a document: hashes by field, `null` for one that goes. */
export interface MarkedChanges {
  readonly hashes: ReadonlyMap<string, string | null>
  /** A new stamp, where the secret is another. */
  readonly stamp?: string | undefined
}

/** The document with other fields, as the version that follows. `updatedAt` in stored form. */
export function updateStoredDocument(
  before: StoredDocument,
  fields: JsonObject,
  updatedAt: string,
  { hashes, stamp }: MarkedChanges,
): StoredDocument {
  const { _id, createdAt, createdBy, [HASHES]: old, [STAMP]: oldStamp, ...rest } = before
  const kept = new Map(isObject(old) ? Object.entries(old) : [])
  for (const [name, hash] of hashes) {
    if (hash === null) kept.delete(name)
    else kept.set(name, hash)
  }
  const marked = kept.size > 0 ? { [HASHES]: Object.fromEntries(kept) } : {}
  const present = stamp ?? oldStamp
  const stamped = present === undefined ? {} : { [STAMP]: present }
  const system = { createdAt, updatedAt, createdBy }
  // What a newer release may have put there is not ours to drop.
  const unknown = Object.fromEntries(Object.entries(rest).filter(([name]) => name.startsWith('_')))
  return { ...unknown, _id, ...fields, ...system, _version: before._version + 1, ...marked, ...stamped }
}

/** The hash that a document holds for a hash field. */
export function readHash(document: StoredDocument, field: string): string | undefined {
  const hashes = document[HASHES]
  const hash = isObject(hashes) ? readOwn(hashes, field) : undefined
  return typeof hash === 'string' ? hash : undefined
}
