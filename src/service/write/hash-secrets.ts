import type { Call } from '../call.js'

/** Hashes a valid secret. Throws `overloaded`. */
function hashSecret({ deadline, service }: Call, secret: string): Promise<string> {
  deadline.enter('hash')
  return service.hasher.hash(secret, deadline.signal)
}

/** Hashes secrets by field; `null` removes one. A hash from an earlier attempt is used again. */
export async function hashSecrets(
  call: Call,
  secrets: Iterable<readonly [field: string, secret: string | null]>,
  known: Map<string, string> = new Map(),
): Promise<ReadonlyMap<string, string | null>> {
  const hashes = new Map<string, string | null>()
  for (const [field, secret] of secrets) {
    if (secret !== null && !known.has(field)) known.set(field, await hashSecret(call, secret))
    hashes.set(field, secret === null ? null : (known.get(field) ?? null))
  }
  return hashes
}
