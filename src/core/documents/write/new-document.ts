import { createStamp } from '../../accounts/auth/token.js'
import type { Collection } from '../../config/plan.js'
import { MAX_INDEXED_BYTES } from '../../fields/schema/keywords.js'
import { countBytes } from '../../json/bytes.js'
import { isStorableText } from '../../json/domain.js'
import { whenReady } from '../../promises.js'
import type { Call } from '../../request/call.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import { hashFields } from './stages/secrets.js'
import { createStoredDocument, type SystemFields } from './stored-document.js'

/** Creates the system fields of a new document. An account is its own creator. */
export function createSystemFields(
  { caller, service, binding }: Call,
  { name }: Collection,
  _id: string,
): SystemFields {
  const { now } = binding
  const createdBy = service.accounts?.users.name === name ? _id : (caller?.id ?? null)
  return { _id, createdAt: now, updatedAt: now, createdBy }
}

/** Whether a value can be stored in `createdBy`, which may be indexed. */
export const isCreator = (id: unknown): id is string =>
  typeof id === 'string' && isStorableText(id) && countBytes(id) <= MAX_INDEXED_BYTES

/** Builds a document of a seed, with hashes instead of secrets. Throws `overloaded`. */
export function buildDocument(
  call: Call,
  collection: Collection,
  { system, fields }: { readonly system: SystemFields; readonly fields: JsonObject },
): MaybePromise<StoredDocument> {
  const stamp = call.service.accounts?.users.name === collection.name ? createStamp() : undefined
  return whenReady(hashFields(call, collection, fields), (hashed) =>
    createStoredDocument(system, hashed.fields, { hashes: hashed.hashes, stamp }),
  )
}
