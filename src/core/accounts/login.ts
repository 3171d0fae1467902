import type { AuthPlan } from '../config/plan.js'
import { hashSecrets } from '../documents/write/stages/secrets.js'
import { readHash, readStamp, replaceHash } from '../documents/write/stored-document.js'
import { isServiceError, ServiceError } from '../errors.js'
import { textOf } from '../fair-queue.js'
import { normalise } from '../fields/schema/normalise.js'
import { composeSecret, MAX_SECRET_BYTES } from '../fields/types/hash.js'
import { countBytes } from '../json/bytes.js'
import { isStorableText } from '../json/domain.js'
import { readOwn } from '../json/own-properties.js'
import { resume } from '../request/authorize.js'
import { behind, type Call, lineOf } from '../request/call.js'
import type { Store } from '../request/store.js'
import type { StoredDocument } from '../storage.js'
import type { Hasher } from '../types/host.js'
import type { Document } from '../types.js'
import { counts } from './account.js'
import { type BuiltInHasher, isCheaper } from './auth/hasher.js'
import { type IssuedSession, issueSession, SESSIONS, type Session } from './auth/sessions.js'
import { createToken } from './auth/token.js'
import { deliverMessage } from './delivery/deliver.js'
import { makeRoom, removeExpired } from './end-sessions.js'
import { showAccount } from './show-account.js'
import type { AttemptOrigin } from './throttle.js'

/** The secret of a successful login. */
interface RightSecret {
  readonly secret: string
  /** Whether the stored hash matches only the secret as typed, not the secret's NFC form. */
  readonly isOnlyTyped: boolean
}

/**
 * Hashes the secret of a successful login again, in the background, if the stored hash has a lower cost than new hashes
 * or is not the hash of the secret's NFC form (CONTRACT.md §4, "Renewal"). The account keeps its stamp, so its sessions
 * continue.
 */
async function renewHash(
  call: Call,
  { users, secret: { name } }: AuthPlan,
  user: StoredDocument,
  { secret, isOnlyTyped }: RightSecret,
): Promise<void> {
  const old = readHash(user, name)
  if (old === undefined || !(isOnlyTyped || isCheaper(old, await call.service.decoy()))) return
  // Some secrets have more bytes in NFC than bcrypt reads: their hash stays as it is.
  if (countBytes(composeSecret(secret)) > MAX_SECRET_BYTES) return
  behind(call, async (own) => {
    const fresh = (await hashSecrets(own, [[name, secret]])).get(name) ?? old
    await own.store.write(async () => {
      const stored = await own.store.own(users.name).find(user._id)
      // The secret was changed concurrently, so the new hash is no longer that of the account's secret.
      if (!stored || readHash(stored, name) !== old) return { steps: [], done: undefined }
      const replace = replaceHash(stored, name, fresh)
      return { steps: [{ in: users.name, replace, version: stored._version }], done: undefined }
    })
  })
}

/**
 * Returns a function that resolves to a decoy: a hash against which the secret of an unknown account is verified, so
 * that its login takes as long as any other. The built-in hasher provides a decoy. A host's hasher hashes a random
 * token once.
 */
export function createDecoy(hasher: Hasher & Partial<BuiltInHasher>): () => Promise<string> {
  let known: string | undefined = hasher.decoy
  return async () => {
    known ??= await hasher.hash(createToken())
    return known
  }
}

/** A user and a new session. */
export interface SignedIn extends IssuedSession {
  readonly user: Document
}

/** An account whose secret was verified. */
interface Verified {
  readonly user: StoredDocument
  /** Whether the stored hash matches only the secret as typed, because it is older than the rule to use NFC. */
  readonly isOnlyTyped: boolean
}

/** The credentials of a login. */
export interface Credentials {
  readonly identifier: string
  readonly secret: string
  /** The client's address; `undefined` if unknown. */
  readonly client: string | undefined
}

/**
 * Opens a session for a client that sends the right secret (CONTRACT.md §4, "Login"). An unknown identifier and a wrong
 * secret take the same steps and get the same error, `invalid_credentials`. Also throws `too_many_attempts` and
 * `overloaded`.
 */
export async function login(
  call: Call,
  auth: AuthPlan,
  { identifier, secret, client }: Credentials,
): Promise<SignedIn> {
  const { service, store } = call
  const named = String(normalise(auth.identifier, identifier))
  const from = { identifier: named, client }
  const { user, isOnlyTyped } = await withRightSecret(call, auth, from, secret)
  const session = issueSession(user._id, readStamp(user), service.now(), auth.sessionMilliseconds)
  const expired = await removeExpired(store, SESSIONS, service.clock())
  const done = { user: await showAccount(call, auth, user), ...session.issued }
  const room = await makeRoom(call, auth, user)
  const signedIn = await store.write(() => ({
    steps: [...room.steps, session.step, ...expired],
    done,
    after: room.after,
  }))
  await renewHash(call, auth, user, { secret, isOnlyTyped })
  return signedIn
}

/**
 * Finds the account of a login and checks its secret. Throws `invalid_credentials`, also if the account must be
 * verified first.
 */
async function withRightSecret(
  call: Call,
  auth: AuthPlan,
  from: AttemptOrigin,
  secret: string,
): Promise<Verified> {
  let unverified: StoredDocument | undefined
  const attempt = async (): Promise<Verified> => {
    const verified = await verifySecret(call, auth, await findUser(call.store, auth, from.identifier), secret)
    if (counts(auth, verified.user)) return verified
    unverified = verified.user
    throw invalidCredentials()
  }
  try {
    return await call.service.throttle.run(call, from, attempt)
  } catch (thrown) {
    // Only for `invalid_credentials`: an attempt that the throttle rejects must not write anything.
    if (unverified && isServiceError(thrown) && thrown.code === 'invalid_credentials')
      redeliver(call, auth, unverified)
    throw thrown
  }
}

/** Delivers the verification token of an account again, in the background. */
function redeliver(call: Call, auth: AuthPlan, user: StoredDocument): void {
  const to = String(readOwn(user, auth.identifier.name))
  behind(call, (own) => deliverMessage(own, auth, { kind: 'verification', to, user }), lineOf('login', to))
}

/**
 * Returns the user if there is one and `secret`, in NFC or as typed, is right. Otherwise throws `invalid_credentials`.
 * The number of hash comparisons depends only on `secret`: one if NFC does not change it, else two.
 */
export async function verifySecret(
  call: Call,
  auth: AuthPlan,
  user: StoredDocument | undefined,
  secret: string,
): Promise<Verified> {
  const composed = composeSecret(secret)
  const isRight = await compareSecret(call, auth, user, composed)
  const isTyped = composed !== secret && (await compareSecret(call, auth, user, secret))
  if (user && (isRight || isTyped)) return { user, isOnlyTyped: !isRight }
  throw invalidCredentials()
}

/**
 * Compares one form of a secret with the hash of a user, or with a decoy if there is no user: always one hash
 * comparison.
 */
async function compareSecret(
  { deadline, service }: Call,
  auth: AuthPlan,
  user: StoredDocument | undefined,
  secret: string,
): Promise<boolean> {
  const decoy = await service.decoy()
  // A secret that cannot be stored is always wrong. It takes the same work, but is compared only with the decoy.
  const isStorable = isStorableText(secret) && countBytes(secret) <= MAX_SECRET_BYTES
  const hash = user && isStorable ? readHash(user, auth.secret.name) : undefined
  deadline.enter('hash')
  const { signal, caller } = deadline
  // The queue serves the senders of requests in turn, not the named accounts: any client can name any account.
  const isRight = await service.hasher.verify(isStorable ? secret : '', hash ?? decoy, signal, textOf(caller))
  // Checked strictly, because a host's hasher that returns an object by mistake would accept every secret.
  if (typeof isRight !== 'boolean') throw new TypeError('hasher.verify must resolve to true or false')
  return hash !== undefined && isRight
}

/** The current secret that a signed-in caller sends as a proof of identity. */
export interface OwnSecret {
  readonly session: Session
  readonly current: string
  /** The client's address; `undefined` if unknown. */
  readonly client: string | undefined
}

/**
 * Verifies the current secret of the caller of a session. Throws `invalid_credentials` for a wrong secret, which counts
 * as a failed login, or if the secret was changed concurrently; `too_many_attempts`; and `invalid_token` if the session
 * has ended.
 */
export async function verifyOwn(
  call: Call,
  auth: AuthPlan,
  { session, current, client }: OwnSecret,
): Promise<void> {
  const { user } = session
  const from = { identifier: identifierOf(auth, user), client }
  const verify = () => verifySecret(call, auth, user, current)
  try {
    await call.service.throttle.run(call, from, verify)
  } catch (thrown) {
    await resume(call)
    throw thrown
  }
  const present = await resume(call)
  if (present.session && readStamp(present.session.user) !== readStamp(user)) throw invalidCredentials()
}

/** Returns the identifier of an account; its `_id` if it has none. */
export const identifierOf = ({ identifier }: AuthPlan, user: StoredDocument): string =>
  String(readOwn(user, identifier.name) ?? user._id)

/** Creates the error for a failed login. It is the same for every reason. */
export const invalidCredentials = (): ServiceError =>
  new ServiceError('invalid_credentials', 'No account has these credentials.')

/** Finds the account with an identifier (in stored form). */
export async function findUser(
  store: Store,
  { identifier: { ref }, users }: AuthPlan,
  identifier: string,
): Promise<StoredDocument | undefined> {
  // No document can hold such a string, so the storage need not be read.
  if (!ref || !isStorableText(identifier)) return undefined
  return store.own(users.name).first({ kind: 'eq', field: ref, value: identifier })
}
