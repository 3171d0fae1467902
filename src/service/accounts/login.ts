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

/** What somebody signs in with. */
export interface Credentials {
  readonly identifier: string
  readonly secret: string
  /** The client's address; `undefined` where nobody knows it. */
  readonly client: string | undefined
}

/**
 * Opens a session for the right secret (CONTRACT.md §4, "Login"). An unknown identifier and a wrong secret take the same
 * steps and get the same `invalid_credentials`. Throws `too_many_attempts` and `overloaded`, too.
 */
export async function login(
  call: Call,
  auth: AuthPlan,
  { identifier, secret, client }: Credentials,
): Promise<SignedIn> {
  const { deadline, service, store } = call
  const named = String(normalise(auth.identifier, identifier))
  // Of the same length whatever was sent, because they are kept.
  const from = { identifier: digestToken(named), client: client && digestToken(client) }
  deadline.enter('hash')
  const user = await service.throttle.run(from, () => verify(call, auth, named, secret), deadline)
  const session = issueSession(user._id, readStamp(user), service.now(), auth.sessionMilliseconds)
  const expired = await removeExpired(store, service.clock())
  const done = { user: showAccount(service, auth, user), ...session.issued }
  return store.write(() => ({ steps: [session.step, ...expired], done }))
}

/** The user whose credentials these are. Throws `invalid_credentials`, after one hash in any case. */
async function verify(
  { deadline, service, store }: Call,
  auth: AuthPlan,
  identifier: string,
  secret: string,
): Promise<StoredDocument> {
  const decoy = await service.decoy()
  const user = await findUser(store, auth, identifier)
  // A secret that could not be stored is a wrong one: it costs as much, and never reaches a stored hash.
  const isStorable = isStorableText(secret) && countBytes(secret) <= MAX_SECRET_BYTES
  const hash = user && isStorable ? readHash(user, auth.secret.name) : undefined
  deadline.enter('hash')
  const isRight = await service.hasher.verify(isStorable ? secret : '', hash ?? decoy, deadline.signal)
  if (user && hash !== undefined && isRight) return user
  throw new ServiceError('invalid_credentials', 'No account has these credentials.')
}

/** The account of an identifier in stored form. */
export async function findUser(
  store: Store,
  { identifier: { ref }, users }: AuthPlan,
  identifier: string,
): Promise<StoredDocument | undefined> {
  // What no document can hold is not asked for.
  if (!ref || !isStorableText(identifier)) return undefined
  return store.own(users.name).first({ kind: 'eq', field: ref, value: identifier })
}
