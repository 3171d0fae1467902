import { isCheaper } from '../../auth/hasher.js'
import type { AuthPlan } from '../../config/plan.js'
import { composeSecret, MAX_SECRET_BYTES } from '../../fields/types/hash.js'
import { countBytes } from '../../schema/json-schema.js'
import type { StoredDocument } from '../../storage.js'
import type { Call } from '../call.js'
import { hashSecrets } from '../write/hash-secrets.js'
import { readHash, replaceHash } from '../write/stored-document.js'
import { behind } from './behind.js'

/** The right secret of a login. */
export interface RightSecret {
  readonly secret: string
  /** Whether it matches only as typed, not in NFC. */
  readonly isOnlyTyped: boolean
}

/**
 * Hashes a right secret again in the background if its hash is cheaper than new ones, or is not the hash of its NFC
 * (CONTRACT.md §4, "Renewal"). The account keeps its stamp, and with it its sessions.
 */
export async function renewHash(
  call: Call,
  { users, secret: { name } }: AuthPlan,
  user: StoredDocument,
  { secret, isOnlyTyped }: RightSecret,
): Promise<void> {
  const old = readHash(user, name)
  if (old === undefined || !(isOnlyTyped || isCheaper(old, await call.service.decoy()))) return
  // In NFC some secrets have more bytes than bcrypt reads: their hash stays.
  if (countBytes(composeSecret(secret)) > MAX_SECRET_BYTES) return
  behind(call, async (own) => {
    const fresh = (await hashSecrets(own, [[name, secret]])).get(name) ?? old
    await own.store.write(async () => {
      const stored = await own.store.own(users.name).find(user._id)
      // The secret was changed concurrently.
      if (!stored || readHash(stored, name) !== old) return { steps: [], done: undefined }
      const replace = replaceHash(stored, name, fresh)
      return { steps: [{ in: users.name, replace, version: stored._version }], done: undefined }
    })
  })
}
