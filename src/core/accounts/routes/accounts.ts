import type { AuthPlan } from '../../config/plan.js'
import type { Fault } from '../../errors.js'
import { envelope } from '../../fields/schema/envelope.js'
import { type Answer, answerJson, NO_HEADERS, NO_STORE, NOTHING, tellIgnored } from '../../http/answer.js'
import type { Endpoint } from '../../http/routes/route.js'
import { issueCookie } from '../../http/session-cookie.js'
import { whenReady } from '../../promises.js'
import { PARAMETERS, readSessionPage, writePlace } from '../../query/paging/session-page.js'
import { authorizeRegistration } from '../../request/authorize.js'
import type { Call, Service } from '../../request/call.js'
import { denied } from '../../request/refusals.js'
import { judgeNew } from '../account.js'
import type { Session } from '../auth/sessions.js'
import { changeSecret as renewSecret } from '../change-secret.js'
import {
  judgeIdentifier,
  changeIdentifier as requestIdentifier,
  requestToken,
  type TokenRequest,
} from '../delivery/request.js'
import { resetSecret, verify as verifyIdentifier } from '../delivery/verify.js'
import { endNamedSession, listSessions } from '../list-sessions.js'
import { type SignedIn, login as signIn } from '../login.js'
import { register as signUp } from '../register.js'
import { endAllSessions, endSession } from '../sessions.js'
import { showAccount } from '../show-account.js'

const TEXT = { type: 'string' } as const

/** Returns the validation of `new` in a body: a new secret or identifier. */
const judgingNew =
  (judge: (auth: AuthPlan, next: string) => readonly Fault[]): NonNullable<Endpoint['judge']> =>
  ({ new: next }, { accounts }) =>
    accounts && typeof next === 'string' ? judge(accounts, next) : []

/** Returns the validation of a new secret. */
const judgeSecret = judgingNew((auth, next) => judgeNew(auth, auth.secret, next))

/** Reads a new value, and the current secret with the address of the client as proof of identity. */
async function readChange({ request }: Call) {
  const { current, new: next } = await request.readBody()
  return { current: String(current), next: String(next), client: request.client() }
}

/**
 * Returns the session of a caller who signed in with a token of the service. Throws `unauthenticated` for any other
 * caller.
 */
function requireSession({ session }: Call): Session {
  if (!session) throw denied(null)
  return session
}

/**
 * Returns the response with a new session. Its token is in the body or, if the request asks for that or a cookie
 * identified it, in a cookie.
 */
function answerSession(
  { request, service }: Call,
  { cookie: plan }: AuthPlan,
  signedIn: SignedIn,
  { status = 200, headers = NO_HEADERS }: Partial<Pick<Answer, 'status' | 'headers'>> = {},
): Answer {
  const cookie = plan && issueCookie(plan, { request, renewed: request.cookie }, signedIn, service.now())
  if (!cookie) return answerJson(status, signedIn, { ...NO_STORE, ...headers })
  const { token: _, ...shown } = signedIn
  return answerJson(status, shown, { ...NO_STORE, ...headers, 'set-cookie': cookie })
}

/** `POST /auth/register`. */
export const register: Endpoint<'auth'> = {
  mayIgnore: true,
  ignoresCookie: true,
  async run(call, { auth }) {
    authorizeRegistration(call)
    const { account, ignored } = await signUp(call, auth, await call.request.readBody())
    const headers = tellIgnored(ignored)
    return account
      ? answerSession(call, auth, account, { status: 201, headers })
      : answerJson(202, {}, headers)
  },
}

/** `POST /auth/login`. */
export const login: Endpoint<'auth'> = {
  ignoresCookie: true,
  envelope({ accounts }) {
    const names = accounts ? [accounts.identifier.name, accounts.secret.name] : []
    return envelope(Object.fromEntries(names.map((name) => [name, TEXT])))
  },
  async run(call, { auth }) {
    const body = await call.request.readBody()
    const [identifier, secret] = [auth.identifier, auth.secret].map(({ name }) => String(body[name]))
    const credentials = { identifier: identifier ?? '', secret: secret ?? '', client: call.request.client() }
    return answerSession(call, auth, await signIn(call, auth, credentials))
  },
}

/** `POST /auth/change-secret`. */
export const changeSecret: Endpoint<'auth'> = {
  envelope: () => envelope({ current: TEXT, new: TEXT }),
  judge: judgeSecret,
  async run(call, { auth }) {
    const session = requireSession(call)
    const renewed = await renewSecret(call, auth, session, await readChange(call))
    return call.request.cookie ? answerSession(call, auth, renewed) : answerJson(200, renewed, NO_STORE)
  },
}

/** `POST /auth/logout`. */
export const logout: Endpoint = {
  async run(call) {
    const session = requireSession(call)
    call.refuseQuery()
    await endSession(call.store, session)
    return NOTHING
  },
}

/** `POST /auth/logout-all`. */
export const logoutAll: Endpoint<'auth'> = {
  async run(call, { auth }) {
    const session = requireSession(call)
    call.refuseQuery()
    await endAllSessions(call, auth, session)
    return NOTHING
  },
}

/** `GET /auth/sessions`. */
export const sessions: Endpoint<'auth'> = {
  parameters: PARAMETERS,
  async run(call, { auth }) {
    const session = requireSession(call)
    const page = readSessionPage(call.readRaw())
    const { shown, next } = await listSessions(call, auth, session, page)
    if (!next) return answerJson(200, shown)
    const place = writePlace(next)
    const link = `<${call.request.prefix}/auth/sessions?limit=${page.limit}&after=${place}>; rel="next"`
    return answerJson(200, shown, { 'next-cursor': place, link })
  },
}

/** `DELETE /auth/sessions/:id`. */
export const endOne: Endpoint<'auth' | 'id'> = {
  async run(call, { id }) {
    const session = requireSession(call)
    call.refuseQuery()
    await endNamedSession(call, session, id)
    return NOTHING
  },
}

/** `GET /auth/me`. */
export const me: Endpoint<'auth'> = {
  run(call, { auth }) {
    const { user } = requireSession(call)
    call.refuseQuery()
    return whenReady(showAccount(call, auth, user), (shown) => answerJson(200, shown))
  },
}

/**
 * Creates an endpoint that requests a token. The response is always the same, and is sent before the account is looked
 * up.
 */
const requesting = (kind: TokenRequest['kind']): Endpoint<'auth'> => ({
  ignoresCookie: true,
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
  ignoresCookie: true,
  envelope: () => envelope({ token: TEXT, new: TEXT }),
  judge: judgeSecret,
  async run(call, { auth }) {
    const { token, new: next } = await call.request.readBody()
    const signedIn = await resetSecret(call, auth, { token: String(token), next: String(next) })
    return answerSession(call, auth, signedIn)
  },
}

/** `POST /auth/verify`. */
export const verify: Endpoint<'auth'> = {
  ignoresCookie: true,
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
  judge: judgingNew(judgeIdentifier),
  async run(call, { auth }) {
    const session = requireSession(call)
    await requestIdentifier(call, auth, session, await readChange(call))
    return answerJson(202, {})
  },
}

/** Whether the service can deliver tokens: the host has set `options.deliver`. */
export const canDeliver = ({ deliver }: Pick<Service, 'deliver'>): boolean => deliver !== undefined

/** Whether identifiers can be verified: tokens can be delivered, and `auth.verifiedField` is set. */
export const canVerify = ({ deliver, accounts }: Pick<Service, 'deliver' | 'accounts'>): boolean =>
  canDeliver({ deliver }) && (accounts?.verified ?? null) !== null
