import { createStamp } from '../../accounts/auth/token.js'
import type { Collection } from '../../config/plan.js'
import { countBytes, MAX_INDEXED_BYTES } from '../../fields/schema/keywords.js'
import { isStorableText } from '../../json/domain.js'
import { planAgreements } from '../../references/matches.js'
import { referencesToHold, requireReference } from '../../references/references.js'
import type { Call } from '../../request/call.js'
import type { Attempt } from '../../request/store/attempt.js'
import type { StoredDocument, WriteStep } from '../../storage.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import { hashSecrets } from './hash-secrets.js'
import { conflictFor } from './rules/redact.js'
import { createStoredDocument, type SystemFields } from './stored-document.js'
import { checkStoredSize } from './written.js'

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

/** Builds the document to store, with hashes instead of secrets. Throws `overloaded`. */
export function buildDocument(
  call: Call,
  collection: Collection,
  { system, fields }: { readonly system: SystemFields; readonly fields: JsonObject },
): MaybePromise<StoredDocument> {
  const stamp = call.service.accounts?.users.name === collection.name ? createStamp() : undefined
  const named = collection.hashes.filter(({ name }) => Object.hasOwn(fields, name))
  const secrets = named.map(({ name }): [string, string] => [name, String(fields[name])])
  if (secrets.length === 0) return createStoredDocument(system, fields, { stamp })
  return hashSecrets(call, secrets).then((hashed) => {
    const plain = Object.entries(fields).filter(([name]) => !hashed.has(name))
    return createStoredDocument(system, Object.fromEntries(plain), {
      hashes: Object.fromEntries(hashed),
      stamp,
    })
  })
}

/** The options of an insert. */
interface InsertOptions {
  /** Further steps, which store state that belongs to the document. */
  readonly others?: readonly WriteStep[]
  /** Whether the client has chosen the `_id`, so that other documents may already refer to it. */
  readonly isNamed?: boolean
  /** The path of the document in the body, if it is only a part of the body. */
  readonly at?: string
}

/**
 * Plans the steps that store a new document and the state that belongs to it. The write is retried if the `_id` is
 * taken, or if a referenced document was deleted. Throws `document_too_large`; the write may later throw
 * `unique_violation`.
 */
export function planInsert(
  call: Call,
  collection: Collection,
  document: StoredDocument,
  { others = [], isNamed = false, at }: InsertOptions = {},
): Required<Pick<Attempt<never>, 'steps' | 'agreements' | 'refuse'>> {
  checkStoredSize([document])
  const references = referencesToHold(collection, {}, document)
  const insert = { in: collection.name, insert: document }
  const isAlone = references.length + others.length === 0
  return {
    steps: isAlone ? [insert] : [...references.map(requireReference), insert, ...others],
    agreements: planAgreements(call.service.plan, collection, { after: document, isNamed, at, asker: call }),
    refuse({ reason, fields = [] }) {
      // A referenced document was deleted. The next attempt evaluates the references again.
      if (reason === 'missing') return
      if (reason !== 'unique') throw new Error(`an insert failed: ${reason}`)
      if (!isIdTaken(fields)) throw conflictFor(call, collection, fields, at)
    },
  }
}

/** Whether a unique violation of these fields means that the `_id` of a new document is taken. */
export const isIdTaken = (fields: readonly string[]): boolean => fields.length === 1 && fields[0] === '_id'
