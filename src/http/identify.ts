import { isStorableText } from '../json/domain.js'
import { isObject } from '../json/own-properties.js'
import { fromHost, type KnownCaller } from '../permissions/caller.js'
import { findSession, invalidToken, type Session } from '../service/accounts/account.js'
import type { RequestScope, ServiceContext } from '../service/context.js'
import type { Caller, ServiceOptions } from '../types.js'
import type { IncomingRequest } from './answer.js'

/** Who sends a request; `session` where the service's own token says so. */
export interface Identity {
  readonly caller: KnownCaller | null
  readonly session?: Session
}

export type Identify = (incoming: IncomingRequest, scope: RequestScope) => Promise<Identity>

const ANONYMOUS: Identity = { caller: null }

const BEARER = /^bearer +(\S+) *$/i

/** Identifies by the service's own tokens, by the host's `authenticate`, or by both (CONTRACT.md §4, "Own accounts"). */
export function createIdentify(
  context: ServiceContext,
  authenticate: ServiceOptions['authenticate'],
): Identify {
  const { plan, keepsAccounts } = context
  const auth = keepsAccounts ? plan.auth : null
  const askHost = async (incoming: IncomingRequest, scope: RequestScope): Promise<Identity> => {
    if (!authenticate) return ANONYMOUS
    scope.enter('host')
    return { caller: await identifyByHost(authenticate, incoming) }
  }
  return async (incoming, scope) => {
    const header = auth ? incoming.header('authorization') : undefined
    if (!auth || header === undefined) return askHost(incoming, scope)
    const [, token] = BEARER.exec(header) ?? []
    if (token === undefined) {
      if (authenticate && !/^bearer(?: |$)/i.test(header)) return askHost(incoming, scope)
      throw invalidToken()
    }
    const session = await findSession(context, scope, auth, token)
    return { caller: session.caller, session }
  }
}

/** A fault of the host is one of ours to the client, even where it throws an error of this package. */
async function identifyByHost(
  authenticate: NonNullable<ServiceOptions['authenticate']>,
  incoming: IncomingRequest,
): Promise<KnownCaller | null> {
  try {
    return checkCaller(await authenticate(incoming.toRequest()))
  } catch (cause) {
    throw new Error('options.authenticate failed', { cause })
  }
}

/** Identifies everyone as one caller, on the host's word. */
export const identifyAs =
  (caller: Caller | null): Identify =>
  async () => ({ caller: checkCaller(caller) })

const isStorable = (text: unknown): text is string => typeof text === 'string' && isStorableText(text)

/**
 * A host's caller. Throws for anything else, so that a mistake never makes anyone anonymous; and for an id or a role
 * that not every storage can hold, so that none of them is asked.
 */
function checkCaller(caller: unknown): KnownCaller | null {
  if (caller === null) return null
  if (!isObject(caller)) throw new TypeError('a caller must be null for nobody, or an object')
  // Read once: what was checked is what counts.
  const { id, roles, ...fields } = caller
  if (!isStorable(id)) throw new TypeError(`the "id" of a caller must be ${STORABLE}`)
  if (roles === undefined) return fromHost({ ...fields, id })
  if (!Array.isArray(roles) || !Array.from(roles).every(isStorable)) {
    throw new TypeError(`the "roles" of a caller must be an array, each of them ${STORABLE}`)
  }
  return fromHost({ ...fields, id, roles: [...roles] })
}

const STORABLE = 'a string without NUL and lone surrogates'
