import type { AuthPlan } from '../config/plan.js'
import { hashSecrets } from '../documents/write/hash-secrets.js'
import { readHash, readStamp, replaceHash } from '../documents/write/stored-document.js'
import { isServiceError, ServiceError } from '../errors.js'
import { textOf } from '../fair-queue.js'
import { countBytes } from '../fields/schema/json-schema.js'
import { normalise } from '../fields/schema/normalise.js'
import { composeSecret, MAX_SECRET_BYTES } from '../fields/types/hash.js'
import { isStorableText } from '../json/domain.js'
import { readOwn } from '../json/own-properties.js'
import { resume } from '../request/authorize.js'
import type { Call } from '../request/call.js'
import type { Store } from '../request/store.js'
import type { AttemptOrigin } from '../request/throttle.js'
import type { StoredDocument } from '../storage.js'
import type { Document } from '../types.js'
import { showAccount } from './account.js'
import { isCheaper } from './auth/hasher.js'
import { type IssuedSession, issueSession, type Session } from './auth/sessions.js'
import { behind, lineOf } from './behind.js'
import { deliverToken } from './delivery/deliver.js'
import { makeRoom } from './end-sessions.js'
import { removeExpired } from './sessions.js'
import { counts } from './verified.js'

/** The right secret of a login. */
interface RightSecret {
  readonly secret: string
  /** Whether it matches only as typed, not in NFC. */
  readonly isOnlyTyped: boolean
}

/**
 * Hashes a right secret again in the background if its hash is cheaper than new ones, or is not the hash of its NFC
 * (CONTRACT.md §4, "Renewal"). The account keeps its stamp, and with it its sessions.
 */
async function renewHash(
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

/** A user and a new session. */
export interface SignedIn extends IssuedSession {
  readonly user: Document
}

/** An account whose secret was verified. */
interface Verified {
  readonly user: StoredDocument
  /** Whether the secret matches only as typed: its hash is older than the NFC rule. */
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
 * Opens a session for the right secret (CONTRACT.md §4, "Login"). An unknown identifier and a wrong secret take the
 * same steps and get the same `invalid_credentials`. Also throws `too_many_attempts` and `overloaded`.
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
  const expired = await removeExpired(store, service.clock())
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

/** The account of a login. Throws `invalid_credentials`, also if the account must be verified first. */
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
    // Not if the throttle had no place left: a rejected attempt writes nothing.
    if (unverified && isServiceError(thrown) && thrown.code === 'invalid_credentials')
      redeliver(call, auth, unverified)
    throw thrown
  }
}

/** Delivers the verification of an account again, in the background. */
function redeliver(call: Call, auth: AuthPlan, user: StoredDocument): void {
  const to = String(readOwn(user, auth.identifier.name))
  behind(call, (own) => deliverToken(own, auth, { kind: 'verification', to, user }), lineOf('login', to))
}

/**
 * The user, if it exists and this is its secret, in NFC or as typed. Throws `invalid_credentials`. The number of
 * comparisons depends only on the secret: one if NFC does not change it, else two.
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

/** Compares one form of a secret with the hash of a user, or with a decoy: one hash comparison in any case. */
async function compareSecret(
  { deadline, service }: Call,
  auth: AuthPlan,
  user: StoredDocument | undefined,
  secret: string,
): Promise<boolean> {
  const decoy = await service.decoy()
  // A secret that cannot be stored is a wrong one: it costs as much, and is not compared with a stored hash.
  const isStorable = isStorableText(secret) && countBytes(secret) <= MAX_SECRET_BYTES
  const hash = user && isStorable ? readHash(user, auth.secret.name) : undefined
  deadline.enter('hash')
  const { signal, caller } = deadline
  // Turns are taken by the caller of the request, not by the named account: any client can name any account.
  const isRight = await service.hasher.verify(isStorable ? secret : '', hash ?? decoy, signal, textOf(caller))
  // Any other value could open an account by mistake: every object is truthy.
  if (typeof isRight !== 'boolean') throw new TypeError('hasher.verify must resolve to true or false')
  return hash !== undefined && isRight
}

/** The credentials of a caller who verifies the own secret. */
interface OwnSecret {
  readonly session: Session
  readonly current: string
  /** The client's address; `undefined` if unknown. */
  readonly client: string | undefined
}

/**
 * Verifies the present secret of the caller of a session. Throws `invalid_credentials` for a wrong one, which counts as
 * a failed login, or if the secret was changed concurrently; `too_many_attempts`; `invalid_token` if the session has
 * ended meanwhile.
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

/** The name of an account at a login; its `_id` if it has no identifier. */
export const identifierOf = ({ identifier }: AuthPlan, user: StoredDocument): string =>
  String(readOwn(user, identifier.name) ?? user._id)

/** The error of a failed login, the same for each reason. */
export const invalidCredentials = (): ServiceError =>
  new ServiceError('invalid_credentials', 'No account has these credentials.')

/** The account with an identifier in stored form. */
export async function findUser(
  store: Store,
  { identifier: { ref }, users }: AuthPlan,
  identifier: string,
): Promise<StoredDocument | undefined> {
  // No document can hold such text, so the storage is not read.
  if (!ref || !isStorableText(identifier)) return undefined
  return store.own(users.name).first({ kind: 'eq', field: ref, value: identifier })
}
