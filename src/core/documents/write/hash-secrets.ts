import type { Collection } from '../../config/plan.js'
import { textOf } from '../../fair-queue.js'
import { composeSecret } from '../../fields/types/hash.js'
import { isStorableText } from '../../json/domain.js'
import { readOwn } from '../../json/own-properties.js'
import { toPointerPart } from '../../json/pointer.js'
import type { Call } from '../../request/call.js'
import type { JsonObject } from '../../types.js'
import { invalidFor } from './rules/redact.js'

/** Normalizes a valid secret to NFC and hashes it. Throws `overloaded`. */
async function hashSecret({ deadline, service }: Call, secret: string): Promise<string> {
  deadline.enter('hash')
  const { signal, caller } = deadline
  const hash: unknown = await service.hasher.hash(composeSecret(secret), signal, textOf(caller))
  if (typeof hash !== 'string' || hash === '' || !isStorableText(hash))
    throw new TypeError('options.hasher.hash must resolve to a non-empty string that can be stored')
  return hash
}

/**
 * Rejects secrets in a batch, because hashing one secret after another would take too long (CONTRACT.md §2, "Batch").
 * `given` holds the values from the body and the `set` of the rule that runs. Throws `validation_failed`.
 */
export function refuseSecrets(call: Call, collection: Collection, given: JsonObject): void {
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

/** Hashes secrets, by field; `null` removes a secret. `known` contains the reusable hashes of earlier attempts. */
export async function hashSecrets(
  call: Call,
  secrets: Iterable<readonly [field: string, secret: string | null]>,
  known: Map<string, string> = new Map(),
): Promise<ReadonlyMap<string, string | null>> {
  const hashes = new Map<string, string | null>()
  for (const [field, secret] of secrets) {
    // The key includes the secret: a later attempt may run under another rule, whose `set` contains another secret.
    const key = `${field} ${secret}`
    if (secret !== null && !known.has(key)) known.set(key, await hashSecret(call, secret))
    hashes.set(field, secret === null ? null : (known.get(key) ?? null))
  }
  return hashes
}
