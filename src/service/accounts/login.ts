import { type IssuedSession, issueSession } from '../../auth/sessions.js'
import { digestToken } from '../../auth/token.js'
import type { AuthPlan } from '../../config/plan.js'
import { ServiceError } from '../../errors.js'
import { MAX_SECRET_BYTES } from '../../fields/types/hash.js'
import { isStorableText } from '../../json/domain.js'
import { countBytes } from '../../schema/json-schema.js'
import { normalise } from '../../schema/normalise.js'
import type { StoredDocument } from '../../storage.js'
import type { Document } from '../../types.js'
import type { Call } from '../call.js'
import type { Store } from '../store.js'
import { readHash, readStamp } from '../write/stored-document.js'
import { showAccount } from './account.js'
import { removeExpired } from './sessions.js'

/** A user and a new session. */
export interface SignedIn extends IssuedSession {
  readonly user: Document
}

/** The credentials of a login. */
export interface Credentials {
  readonly identifier: string
  readonly secret: string
  /** The client's address; `undefined` where it is not known. */
  readonly client: string | undefined
}

/**
 * Opens a session for the right secret (CONTRACT.md §4, "Login"). An unknown identifier and a wrong secret
 * take the same steps and get the same `invalid_credentials`. Also throws `too_many_attempts` and
 * `overloaded`.
 */
export async function login(
  call: Call,
  auth: AuthPlan,
  { identifier, secret, client }: Credentials,
): Promise<SignedIn> {
  const { deadline, service, store } = call
  const named = String(normalise(auth.identifier, identifier))
  // Digests have one length, whatever was sent: they are kept.
  const from = { identifier: digestToken(named), client: client && digestToken(client) }
  deadline.enter('hash')
  const attempt = async () => verifySecret(call, auth, await findUser(store, auth, named), secret)
  const user = await service.throttle.run(from, attempt, deadline)
  const session = issueSession(user._id, readStamp(user), service.now(), auth.sessionMilliseconds)
  const expired = await removeExpired(store, service.clock())
  const done = { user: showAccount(service, auth, user), ...session.issued }
  return store.write(() => ({ steps: [session.step, ...expired], done }))
}

/** The user, if there is one and this is its secret. Throws `invalid_credentials`, after one hash in any case. */
export async function verifySecret(
  { deadline, service }: Call,
  auth: AuthPlan,
  user: StoredDocument | undefined,
  secret: string,
): Promise<StoredDocument> {
  const decoy = await service.decoy()
  // A secret that cannot be stored is a wrong one: it costs as much, and is not compared with a stored hash.
  const isStorable = isStorableText(secret) && countBytes(secret) <= MAX_SECRET_BYTES
  const hash = user && isStorable ? readHash(user, auth.secret.name) : undefined
  deadline.enter('hash')
  const isRight = await service.hasher.verify(isStorable ? secret : '', hash ?? decoy, deadline.signal)
  if (user && hash !== undefined && isRight) return user
  throw new ServiceError('invalid_credentials', 'No account has these credentials.')
}

/** The account with an identifier in stored form. */
export async function findUser(
  store: Store,
  { identifier: { ref }, users }: AuthPlan,
  identifier: string,
): Promise<StoredDocument | undefined> {
  // No document can hold such text, so the storage is not asked.
  if (!ref || !isStorableText(identifier)) return undefined
  return store.own(users.name).first({ kind: 'eq', field: ref, value: identifier })
}
