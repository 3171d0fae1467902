import type { AuthPlan } from '../../config/plan.js'
import type { Fault } from '../../errors.js'
import { immutable } from '../../fields/schema/changes.js'
import { normalise } from '../../fields/schema/normalise.js'
import { countBytes } from '../../json/bytes.js'
import { readOwn } from '../../json/own-properties.js'
import { behind, type Call, lineOf } from '../../request/call.js'
import { isVerified, judgeNew } from '../account.js'
import { type Ledger, nameLedger } from '../auth/ledger.js'
import type { Session } from '../auth/sessions.js'
import { findUser, identifierOf, type OwnSecret, verifyOwn } from '../login.js'
import { takePlaces } from '../throttle.js'
import { deliverMessage, hasPlace, sendMessage } from './deliver.js'

/** A request to deliver a token to an identifier. */
export interface TokenRequest {
  readonly kind: 'reset' | 'verification'
  /** As sent by the client. */
  readonly identifier: string
  /** The client's address; `undefined` if unknown. */
  readonly client: string | undefined
}

const HOUR = 60 * 60 * 1000
const MAX_REQUESTS = 20

/** An identifier is a unique string, which has at most this number of bytes. */
const MAX_BYTES = 1024

/**
 * Requests a token for the owner of an identifier. Before the response, only the number of this client's requests is
 * read, so that the response does not reveal whether the identifier has an owner (CONTRACT.md §4, "Delivery"). Throws
 * `too_many_attempts`.
 */
export async function requestToken(
  call: Call,
  auth: AuthPlan,
  { kind, identifier, client }: TokenRequest,
): Promise<void> {
  if (client !== undefined) await takePlaces(call, [ledgerOf(client)])
  const named = String(normalise(auth.identifier, identifier))
  if (countBytes(named) > MAX_BYTES) return
  const to = copyText(named)
  const deliver = async (own: Call): Promise<void> => {
    const user = await findUser(own.store, auth, to)
    if (user && (kind === 'reset' || !isVerified(auth, user)))
      await deliverMessage(own, auth, { kind, to, user })
  }
  behind(call, deliver, lineOf(kind, to))
}

const ledgerOf = (client: string): Ledger => ({
  _id: nameLedger('requests', client),
  window: HOUR,
  most: MAX_REQUESTS,
})

/** Copies a string: engines implement a trimmed string as a slice, which would keep the whole original in memory. */
const copyText = (text: string): string => String(JSON.parse(JSON.stringify(text)))

/** Validates a new identifier. Its errors have the path `/new`, as in the request body. */
export const judgeIdentifier = (auth: AuthPlan, value: string): readonly Fault[] =>
  auth.identifier.definition.immutable ? [immutable('/new')] : judgeNew(auth, auth.identifier, value)

/**
 * Delivers a token to a new identifier, and a notice to the current identifier. The new identifier is stored when the
 * token is verified (CONTRACT.md §4, "Changing the identifier"). No response reveals whether the new identifier is
 * taken. Throws `invalid_credentials` for a wrong current secret, which counts as a failed login; `too_many_attempts`;
 * and `invalid_token` if the session has ended.
 */
export async function changeIdentifier(
  call: Call,
  auth: AuthPlan,
  session: Session,
  { next, ...proof }: Omit<OwnSecret, 'session'> & { readonly next: string },
): Promise<void> {
  const { user } = session
  const identifier = readOwn(user, auth.identifier.name)
  const present = identifierOf(auth, user)
  await verifyOwn(call, auth, { session, ...proof })
  const to = String(normalise(auth.identifier, next))
  behind(call, async (own) => {
    // The notice is counted first, because whether it is delivered must not depend on who owns the new identifier.
    // Notice and token count from the same time `at`. If one expired earlier, the next deliveries would reveal whether
    // the new identifier has an owner.
    const at = own.service.now()
    const notice = { kind: 'identifier-changing', to: present, user } as const
    if (!(await hasPlace(own, notice, at))) return
    const owner = await findUser(own.store, auth, to)
    const kind = owner ? 'already-registered' : 'new-identifier'
    const message = { kind, to, user: owner ?? user } as const
    const isDelivered = await hasPlace(own, message, at)
    // A user without a current identifier gets no notice.
    if (identifier !== undefined) await sendMessage(own, auth, notice)
    if (isDelivered) await sendMessage(own, auth, message)
  })
}
