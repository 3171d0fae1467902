import type { AuthPlan, ServicePlan } from '../../config/plan.js'
import { ConfigError } from '../../errors.js'
import type { Clock } from '../../permissions/caller.js'
import { normalise } from '../../schema/normalise.js'
import type { Attempt } from '../store/attempt.js'
import type { Store } from '../store.js'
import { updateStoredDocument } from '../write/stored-document.js'
import { noAccount } from './grant-role.js'
import { findUser } from './login.js'
import { isVerified, verifiedFields } from './verified.js'

/** The plan of accounts that can be verified. Throws `ConfigError` if the configuration has none. */
export function findVerifiable({ auth }: ServicePlan): AuthPlan {
  if (auth?.verified) return auth
  throw new ConfigError([
    {
      path: '/auth/verifiedField',
      message: 'is required: it names the field that holds the time since which an account is verified',
    },
  ])
}

/**
 * Verifies an account with the operator's authority. Returns whether anything was written: a verified account keeps its
 * time. Throws `not_found` for an identifier without an account, and `overloaded`.
 *
 * @param store open for the collection of accounts
 */
export const grantVerified = async (
  store: Store,
  auth: AuthPlan,
  identifier: string,
  clock: Clock,
): Promise<{ readonly isNew: boolean }> =>
  store.write(async (): Promise<Attempt<{ readonly isNew: boolean }>> => {
    const user = await findUser(store, auth, String(normalise(auth.identifier, identifier)))
    if (!user) throw noAccount(auth, identifier)
    if (isVerified(auth, user)) return { steps: [], done: { isNew: false } }
    const now = clock()
    const replace = updateStoredDocument(user, verifiedFields(auth, user, now), now, { hashes: new Map() })
    return {
      steps: [{ in: auth.users.name, replace, version: user._version }],
      done: { isNew: true },
    }
  })
