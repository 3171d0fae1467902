import type { AuthPlan } from '../../config/plan.js'
import { readStamp } from '../../documents/write/stored-document.js'
import { isServiceError } from '../../errors.js'
import { formatTimestamp } from '../../fields/timestamp.js'
import { drawFirstVersion } from '../../first-version.js'
import { readOwn } from '../../json/own-properties.js'
import type { Call } from '../../request/call.js'
import type { StoredDocument } from '../../storage.js'
import type { Delivery } from '../../types/host.js'
import { DELIVERIES, type DeliveredToken, type TokenKind } from '../auth/deliveries.js'
import { type Ledger, nameLedger } from '../auth/ledger.js'
import { LAST_TIME } from '../auth/sessions.js'
import { createToken, digestToken } from '../auth/token.js'
import { removeExpired } from '../end-sessions.js'
import { showAccount } from '../show-account.js'
import { takePlaces } from '../throttle.js'

const HOUR = 60 * 60 * 1000

/** The maximum number of deliveries of one kind per hour, for each account and for each identifier. */
const MAX_DELIVERIES = 3

/** A message about the account `user`, to the identifier `to` (in stored form). */
interface Message<Kind extends Delivery['kind'] = Delivery['kind']> {
  readonly kind: Kind
  readonly to: string
  readonly user: StoredDocument
}

/** Delivers a message, unless the limit of deliveries is reached. */
export async function deliverMessage(call: Call, auth: AuthPlan, message: Message): Promise<void> {
  if (await hasPlace(call, message)) await sendMessage(call, auth, message)
}

/**
 * Delivers a message, with a new token if its kind has one. The caller has already called `hasPlace` for it. Delivers no
 * token if, since `user` was read, the account was deleted, or its secret or identifier was changed, which invalidates
 * earlier requests.
 */
export async function sendMessage(call: Call, auth: AuthPlan, { kind, to, user }: Message): Promise<void> {
  if (kind === 'already-registered' || kind === 'identifier-changing')
    return send(call, { kind, to, user: await showAccount(call, auth, user) })
  const token = await storeToken(call, auth, { kind, to, user })
  if (token) await send(call, { kind, to, user: await showAccount(call, auth, user), ...token })
}

/** Creates and stores a token; returns `undefined` if the account has changed. */
async function storeToken(
  { service, store }: Call,
  auth: AuthPlan,
  { kind, to, user }: Message<TokenKind>,
): Promise<{ readonly token: string; readonly expiresAt: string } | undefined> {
  const lifetime = kind === 'reset' ? auth.resetMilliseconds : 24 * HOUR
  const token = createToken()
  const expiresAt = formatTimestamp(service.now() + lifetime) ?? LAST_TIME
  const marks = { _id: digestToken(token), _version: drawFirstVersion() }
  const told: Omit<DeliveredToken, '_id'> = { kind, user: user._id, to, stamp: readStamp(user) }
  const expired = await removeExpired(store, DELIVERIES, service.clock())
  return store.write(async () => {
    const present = await store.own(auth.users.name).find(user._id)
    if (!present || !isSame(auth, present, user)) return { steps: [], done: undefined }
    const required = { in: auth.users.name, require: user._id, version: present._version }
    const insert = { ...marks, ...told, expiresAt }
    return { steps: [required, { in: DELIVERIES, insert }, ...expired], done: { token, expiresAt } }
  })
}

const isSame = ({ identifier: { name } }: AuthPlan, one: StoredDocument, other: StoredDocument): boolean =>
  readStamp(one) === readStamp(other) && readOwn(one, name) === readOwn(other, name)

/**
 * Counts a delivery towards the limits; returns false if a limit is already reached. `at` is the time from which the
 * delivery counts. Default: now.
 */
export async function hasPlace(call: Call, { kind, to, user }: Message, at?: number): Promise<boolean> {
  const ledgerOf = (whose: string, name: string): Ledger => ({
    _id: nameLedger('deliveries', kind, whose, name),
    window: HOUR,
    most: MAX_DELIVERIES,
  })
  try {
    await takePlaces(call, [ledgerOf('account', user._id), ledgerOf('to', to)], at)
    return true
  } catch (thrown) {
    if (isServiceError(thrown) && thrown.code === 'too_many_attempts') return false
    throw thrown
  }
}

async function send({ service, deadline }: Call, delivery: Delivery): Promise<void> {
  deadline.enter('deliver')
  try {
    await service.deliver?.(delivery)
  } catch (cause) {
    service.logger.error('options.deliver failed', { kind: delivery.kind, cause })
  }
}
