import type { Session } from '../accounts/auth/sessions.js'
import { findSession } from '../accounts/sessions.js'
import type { Along } from '../claims/claims-along.js'
import { isCreator } from '../documents/write/new-document.js'
import { isStorableText } from '../json/domain.js'
import { isObject } from '../json/own-properties.js'
import { fromHost, type KnownCaller } from '../permissions/caller.js'
import { whenReady } from '../promises.js'
import type { Service } from '../request/call.js'
import type { Deadline } from '../request/deadline.js'
import type { InSession } from '../request/kept-sessions.js'
import { crossSite, invalidToken } from '../request/refusals.js'
import type { Store } from '../request/store.js'
import type { Caller, MaybePromise, ServiceOptions } from '../types.js'
import type { IncomingRequest } from './answer.js'
import { isCrossSite, readCookie, type SentCookie } from './session-cookie.js'

/** The sender of a request. `session` is set if a token of the service identifies the sender. */
export interface Identity {
  readonly caller: KnownCaller | null
  readonly session: Session | undefined
  /** The claims that were read together with the session. */
  readonly claims?: InSession['claims']
  /** Whether it is the host's own code with full rights. Default false. */
  readonly isSystem?: boolean
  /** The cookie that identified the sender, if one did. */
  readonly cookie?: SentCookie
}

/** The parts of a service and an endpoint that identifying a sender needs. */
interface IdentifyBy {
  readonly deadline: Deadline
  readonly store: Store
  readonly along?: Along | undefined
  /** Whether the cookie of the service identifies nobody. Default false. */
  readonly ignoresCookie?: boolean | undefined
}

/** Identifies the sender of a request. */
export type Identify = (incoming: IncomingRequest, by: IdentifyBy) => MaybePromise<Identity>

/** The identity of an anonymous request. */
export const NOBODY: Identity = { caller: null, session: undefined }

const onHostsWord = (caller: KnownCaller | null): Identity => ({ caller, session: undefined })

const BEARER = /^bearer +(\S+) *$/i

/** Identifies the sender by the host's `authenticate`. */
export type AskHost = (incoming: IncomingRequest) => Promise<KnownCaller | null>

/**
 * Creates the function that identifies senders by the service's own tokens, also in its cookie, by `ask`, or by both
 * (CONTRACT.md §4, "Own accounts", "Sessions in cookies"). Returns `undefined` if the service has neither.
 */
export function createIdentify(service: Service, ask: AskHost | undefined): Identify | undefined {
  const auth = service.accounts
  if (!auth && !ask) return undefined
  const askHost = (incoming: IncomingRequest, deadline: Deadline): MaybePromise<Identity> => {
    if (!ask) return NOBODY
    deadline.enter('host')
    return ask(incoming).then(onHostsWord)
  }
  const cookiePlan = auth?.cookie
  return (incoming, { deadline, store, along, ignoresCookie }) => {
    const header = auth ? incoming.header('authorization') : undefined
    if (!auth || header === undefined) {
      const cookie = cookiePlan && !ignoresCookie ? readCookie(cookiePlan, incoming) : undefined
      if (!auth || !cookiePlan || !cookie) return askHost(incoming, deadline)
      if (isCrossSite(cookiePlan, incoming)) throw crossSite()
      const finding = findSession(service, store, auth, { token: cookie.token, along })
      return whenReady(finding, (found): Identity => ({ ...found, cookie }))
    }
    const [, token] = BEARER.exec(header) ?? []
    if (token === undefined) {
      if (ask && !/^bearer(?: |$)/i.test(header)) return askHost(incoming, deadline)
      throw invalidToken()
    }
    return findSession(service, store, auth, { token, along })
  }
}

/**
 * Creates the function that identifies senders only by the host's `authenticate`. Every error of it, even a
 * `ServiceError`, becomes a 500.
 */
export function createAskHost(authenticate: ServiceOptions['authenticate']): AskHost | undefined {
  const ask = createAskPlainly(authenticate)
  return (
    ask &&
    (async (incoming) => {
      try {
        return await ask(incoming)
      } catch (cause) {
        throw new Error('options.authenticate failed', { cause })
      }
    })
  )
}

/** Creates the same function, but throws the errors of `authenticate` unchanged. */
export const createAskPlainly = (authenticate: ServiceOptions['authenticate']): AskHost | undefined =>
  authenticate && (async (incoming) => checkCaller(await authenticate(incoming.toRequest())))

/** Creates a function that identifies every sender as the same caller, named by the host. */
export const identifyAs =
  (caller: Caller | null): Identify =>
  () =>
    onHostsWord(checkCaller(caller))

/** Creates a function that gives every request full rights. `as` is the id that writes are attributed to. */
export const identifyAsSystem =
  (as: string | undefined): Identify =>
  () => ({
    caller: as === undefined ? null : fromHost({ id: as }),
    session: undefined,
    isSystem: true,
  })

const isStorable = (text: unknown): text is string => typeof text === 'string' && isStorableText(text)

/**
 * Checks a caller that the host returns. Throws for anything else, so that a mistake never makes a caller anonymous.
 * Also throws for an id or a role that some storages cannot store or index, so that all storages behave alike.
 */
export function checkCaller(caller: unknown): KnownCaller | null {
  if (caller === null) return null
  if (!isObject(caller)) throw new TypeError('a caller must be an object, or null for an anonymous caller')
  // Each property is read only once, because a getter could return another value after the check.
  const { id, roles, ...fields } = caller
  if (!isCreator(id)) throw new TypeError(`the "id" of a caller must be ${CREATOR}`)
  if (roles === undefined) return fromHost({ id, ...fields })
  if (!Array.isArray(roles) || !Array.from(roles).every(isStorable)) {
    throw new TypeError(`the "roles" of a caller must be an array in which each element is ${STORABLE}`)
  }
  return fromHost({ id, roles: [...roles], ...fields })
}

const STORABLE = 'a string without NUL or lone surrogates'
/** The ids of which `isCreator` is true. */
export const CREATOR = `${STORABLE}, of at most 1,024 bytes`
