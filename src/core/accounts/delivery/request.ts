import type { AuthPlan } from '../../config/plan.js'
import { countBytes } from '../../fields/schema/keywords.js'
import { normalise } from '../../fields/schema/normalise.js'
import type { Call } from '../../request/call.js'
import type { StoredDocument } from '../../storage.js'
import { type Ledger, nameLedger } from '../auth/ledger.js'
import { behind, lineOf } from '../behind.js'
import { findUser } from '../login.js'
import { takePlaces } from '../throttle/throttle.js'
import { isVerified } from '../verified.js'
import { deliverToken } from './deliver.js'

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
    if (user && isDue(auth, kind, user)) await deliverToken(own, auth, { kind, to, user })
  }
  behind(call, deliver, lineOf(kind, to))
}

const ledgerOf = (client: string): Ledger => ({
  _id: nameLedger('requests', client),
  window: HOUR,
  most: MAX_REQUESTS,
})

const isDue = (auth: AuthPlan, kind: TokenRequest['kind'], user: StoredDocument): boolean =>
  kind === 'reset' || !isVerified(auth, user)

/** Copies a string: engines implement a trimmed string as a slice, which would keep the whole original in memory. */
const copyText = (text: string): string => String(JSON.parse(JSON.stringify(text)))
