import type { AuthPlan } from '../../config/plan.js'
import { readStamp } from '../../documents/write/stored-document.js'
import { isServiceError } from '../../errors.js'
import { formatTimestamp } from '../../fields/timestamp.js'
import { drawFirstVersion } from '../../first-version.js'
import { readOwn } from '../../json/own-properties.js'
import type { Call } from '../../request/call.js'
import type { StoredDocument, WriteStep } from '../../storage.js'
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
export interface Message<Kind extends Delivery['kind']> {
  readonly kind: Kind
  readonly to: string
  readonly user: StoredDocument
}

/** A message without a token. */
export type Notice = Message<'already-registered' | 'identifier-changing'>

/** Delivers a message without a token, unless the limit of deliveries is reached. */
export async function deliverNotice(call: Call, auth: AuthPlan, notice: Notice): Promise<void> {
  if (await hasPlace(call, notice)) await sendNotice(call, auth, notice)
}

/** Delivers a message without a token. The caller has already called `hasPlace` for it. */
export const sendNotice = async (call: Call, auth: AuthPlan, { kind, to, user }: Notice): Promise<void> =>
  send(call, { kind, to, user: await showAccount(call, auth, user) })

/** Creates, stores and delivers a token, unless the limit of deliveries is reached. */
export async function deliverToken(call: Call, auth: AuthPlan, message: Message<TokenKind>): Promise<void> {
  if (await hasPlace(call, message)) await sendToken(call, auth, message)
}

/** Creates a token, and the step that stores it. Times are in milliseconds since 1970. */
function issueToken(
  told: Omit<DeliveredToken, '_id'>,
  now: number,
  lifetime: number,
): { readonly token: string; readonly expiresAt: string; readonly step: WriteStep } {
  const token = createToken()
  const expiresAt = formatTimestamp(now + lifetime) ?? LAST_TIME
  const { kind, user, to, stamp } = told
  const marks = { _id: digestToken(token), _version: drawFirstVersion() }
  return {
    token,
    expiresAt,
    step: { in: DELIVERIES, insert: { ...marks, kind, user, to, stamp, expiresAt } },
  }
}

/**
 * Creates, stores and delivers a token. The caller has already called `hasPlace` for it. Delivers nothing if, since
 * `user` was read, the account was deleted, or its secret or identifier was changed, which invalidates earlier
 * requests.
 */
export async function sendToken(
  call: Call,
  auth: AuthPlan,
  { kind, to, user }: Message<TokenKind>,
): Promise<void> {
  const { service, store } = call
  const lifetime = kind === 'reset' ? auth.resetMilliseconds : 24 * HOUR
  const told = { kind, user: user._id, to, stamp: readStamp(user) }
  const { token, expiresAt, step } = issueToken(told, service.now(), lifetime)
  const expired = await removeExpired(store, DELIVERIES, service.clock())
  const isStored = await store.write(async () => {
    const present = await store.own(auth.users.name).find(user._id)
    if (!present || !isSame(auth, present, user)) return { steps: [], done: false }
    const required = { in: auth.users.name, require: user._id, version: present._version }
    return { steps: [required, step, ...expired], done: true }
  })
  if (!isStored) return
  await send(call, { kind, to, user: await showAccount(call, auth, user), token, expiresAt })
}

const isSame = ({ identifier: { name } }: AuthPlan, one: StoredDocument, other: StoredDocument): boolean =>
  readStamp(one) === readStamp(other) && readOwn(one, name) === readOwn(other, name)

/**
 * Counts a delivery towards the limits; returns false if a limit is already reached. `at` is the time from which the
 * delivery counts. Default: now.
 */
export async function hasPlace(
  call: Call,
  { kind, to, user }: Message<Delivery['kind']>,
  at?: number,
): Promise<boolean> {
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
