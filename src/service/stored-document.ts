import { isObject, type JsonObject, readOwn } from '../filter/read-path.js'
import type { StoredDocument } from '../storage.js'

/**
 * Where hashes lie in a stored document: apart from its fields, under a name that no field can have. So they are never
 * shown, compared or copied, whatever a later configuration declares (contract §1).
 */
const HASHES = '_hashes'

/** What the service itself puts into a document. Times in stored form. */
export interface SystemFields {
  readonly _id: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly createdBy: string | null
}

/** A document as it is stored for the first time. */
export function createStoredDocument(
  { _id, ...system }: SystemFields,
  fields: JsonObject,
  hashes: JsonObject,
): StoredDocument {
  const marked = Object.keys(hashes).length > 0 ? { [HASHES]: hashes } : {}
  return { _id, ...fields, ...system, _version: 1, ...marked }
}

/** The hash that a document holds for a hash field. */
export function readHash(document: StoredDocument, field: string): string | undefined {
  const hashes = document[HASHES]
  const hash = isObject(hashes) ? readOwn(hashes, field) : undefined
  return typeof hash === 'string' ? hash : undefined
}
