import { envelope } from '../../fields/schema/envelope.js'
import { answerJson, NO_STORE, NOTHING } from '../../http/answer.js'
import type { Endpoint } from '../../http/routes/route.js'
import type { Service } from '../../request/call.js'
import { judgeSecret } from '../change-secret.js'
import { judgeIdentifier, changeIdentifier as requestIdentifier } from '../delivery/change-identifier.js'
import { requestToken, type TokenRequest } from '../delivery/request.js'
import { resetSecret, verify as verifyIdentifier } from '../delivery/verify.js'
import { requireSession } from './accounts.js'

const TEXT = { type: 'string' } as const

/**
 * Creates an endpoint that requests a token. The response is always the same, and is sent before the account is looked
 * up.
 */
const requesting = (kind: TokenRequest['kind']): Endpoint<'auth'> => ({
  envelope: ({ accounts }) => envelope(accounts ? { [accounts.identifier.name]: TEXT } : {}),
  async run(call, { auth }) {
    const body = await call.request.readBody()
    const identifier = String(body[auth.identifier.name])
    await requestToken(call, auth, { kind, identifier, client: call.request.client() })
    return answerJson(202, {})
  },
})

/** `POST /auth/request-reset`. */
export const requestReset = requesting('reset')

/** `POST /auth/request-verification`. */
export const requestVerification = requesting('verification')

/** `POST /auth/reset`. */
export const reset: Endpoint<'auth'> = {
  envelope: () => envelope({ token: TEXT, new: TEXT }),
  judge: ({ new: next }, { accounts }) =>
    accounts && typeof next === 'string' ? judgeSecret(accounts, next) : [],
  async run(call, { auth }) {
    const { token, new: next } = await call.request.readBody()
    const signedIn = await resetSecret(call, auth, { token: String(token), next: String(next) })
    return answerJson(200, signedIn, NO_STORE)
  },
}

/** `POST /auth/verify`. */
export const verify: Endpoint<'auth'> = {
  envelope: () => envelope({ token: TEXT, current: TEXT }),
  async run(call, { auth }) {
    const { token, current } = await call.request.readBody()
    const verification = { token: String(token), current: String(current), client: call.request.client() }
    await verifyIdentifier(call, auth, verification)
    return NOTHING
  },
}

/** `POST /auth/change-identifier`. */
export const changeIdentifier: Endpoint<'auth'> = {
  envelope: () => envelope({ current: TEXT, new: TEXT }),
  judge: ({ new: next }, { accounts }) =>
    accounts && typeof next === 'string' ? judgeIdentifier(accounts, next) : [],
  async run(call, { auth }) {
    const session = requireSession(call)
    const { current, new: next } = await call.request.readBody()
    const change = { current: String(current), next: String(next), client: call.request.client() }
    await requestIdentifier(call, auth, session, change)
    return answerJson(202, {})
  },
}

/** Whether the service can deliver tokens: the host has set `options.deliver`. */
export const canDeliver = ({ deliver }: Pick<Service, 'deliver'>): boolean => deliver !== undefined

/** Whether identifiers can be verified: tokens can be delivered, and `auth.verifiedField` is set. */
export const canVerify = ({ deliver, accounts }: Pick<Service, 'deliver' | 'accounts'>): boolean =>
  canDeliver({ deliver }) && (accounts?.verified ?? null) !== null
