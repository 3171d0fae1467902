import { createStamp } from '../../../accounts/auth/token.js'
import type { Collection } from '../../../config/plan.js'
import { textOf } from '../../../fair-queue.js'
import { composeSecret } from '../../../fields/types/hash.js'
import { isStorableText } from '../../../json/domain.js'
import { pickWhere, readOwn } from '../../../json/own-properties.js'
import { toPointerPart } from '../../../json/pointer.js'
import { whenReady } from '../../../promises.js'
import type { Call } from '../../../request/call.js'
import type { JsonObject, MaybePromise } from '../../../types.js'
import type { Draft, Stage } from '../draft.js'
import { invalidFor } from '../redact.js'
import { type HashChanges, NO_HASHES, readStamp } from '../stored-document.js'

/** Takes the secrets of an update out of its fields. Rejects secrets in a batch. */
export const secrets: Stage = {
  name: 'secrets',
  judge(draft) {
    const { collection, given, fields, before } = draft
    if (!before) return undefined
    const named = collection.hashes.filter(({ name }) => Object.hasOwn(given, name))
    if (named.length === 0) return undefined
    draft.secrets = new Map(
      named.map(({ name }) => [name, given[name] === null ? null : String(given[name])]),
    )
    draft.fields = pickWhere(fields, (name) => !draft.secrets.has(name))
    return undefined
  },
  settle: refuseInBatch,
}

/** Hashes the secrets of a draft, after its hook. */
export const hashes: Stage = {
  name: 'hashes',
  settle(draft) {
    const { call, collection, secrets, fields, before } = draft
    if (before) return secrets.size > 0 ? hashUpdate(draft) : undefined
    return whenReady(hashFields(call, collection, fields), (hashed) => void Object.assign(draft, hashed))
  },
}

/** Hashes the secrets of an update. */
async function hashUpdate(draft: Draft): Promise<void> {
  const { call, collection, secrets, write, before } = draft
  draft.hashes = await hashSecrets(call, secrets, write.hashed)
  // The host keeps the accounts now, but the service may keep them again later. Sessions that were opened with the old
  // secret must then remain ended, so the stamp changes.
  const isFormer =
    call.service.accounts?.users.name !== collection.name && before && readStamp(before.stored) !== ''
  if (isFormer) draft.stamp = createStamp()
}

/**
 * Rejects secrets in a batch, because hashing one secret after another would take too long (CONTRACT.md §2, "Batch").
 * `given` holds the values from the body and the `set` of the rule that runs. Throws `validation_failed`.
 */
function refuseInBatch({ call, collection, given }: Draft): void {
  if (!call.isInBatch) return
  const named = collection.hashes.filter(({ name }) => (readOwn(given, name) ?? null) !== null)
  if (named.length === 0) return
  throw invalidFor(
    call,
    collection,
    named.map(({ name }) => ({
      path: toPointerPart(name),
      code: 'not_in_batch',
      message: 'cannot be set in a batch',
    })),
  )
}

/** The fields of a document without its secrets, and their hashes. */
interface HashedFields {
  readonly fields: JsonObject
  readonly hashes: HashChanges
}

/** Hashes the secrets in the fields of a new document. Throws `overloaded`. */
export function hashFields(
  call: Call,
  { hashes: declared }: Collection,
  fields: JsonObject,
): MaybePromise<HashedFields> {
  const named = declared.filter(({ name }) => Object.hasOwn(fields, name))
  if (named.length === 0) return { fields, hashes: NO_HASHES }
  const secrets = named.map(({ name }): [string, string] => [name, String(fields[name])])
  return hashSecrets(call, secrets).then((hashed) => ({
    fields: pickWhere(fields, (name) => !hashed.has(name)),
    hashes: hashed,
  }))
}

/** Hashes secrets, by field; `null` removes a secret. `known` contains the reusable hashes of earlier attempts. */
export async function hashSecrets(
  call: Call,
  secrets: Iterable<readonly [field: string, secret: string | null]>,
  known: Map<string, string> = new Map(),
): Promise<HashChanges> {
  const hashed = new Map<string, string | null>()
  for (const [field, secret] of secrets) {
    // The key includes the secret: a later attempt may run under another rule, whose `set` contains another secret.
    const key = `${field} ${secret}`
    if (secret !== null && !known.has(key)) known.set(key, await hashSecret(call, secret))
    hashed.set(field, secret === null ? null : (known.get(key) ?? null))
  }
  return hashed
}

/** Normalizes a valid secret to NFC and hashes it. Throws `overloaded`. */
async function hashSecret({ deadline, service }: Call, secret: string): Promise<string> {
  deadline.enter('hash')
  const { signal, caller } = deadline
  const hash: unknown = await service.hasher.hash(composeSecret(secret), signal, textOf(caller))
  if (typeof hash !== 'string' || hash === '' || !isStorableText(hash))
    throw new TypeError('options.hasher.hash must resolve to a non-empty string that can be stored')
  return hash
}
