import type { IssuedSession } from '../accounts/auth/sessions.js'
import type { CookiePlan } from '../config/plan.js'
import type { IncomingRequest } from './answer.js'
import { readPreference } from './prefer.js'

/** A request, as far as the cookie of sessions depends on it. */
type Sent = Pick<IncomingRequest, 'header' | 'ownOrigin'>

/** The cookie of a request: its name, and the token in it. */
export interface SentCookie {
  readonly name: string
  /** Empty if the request has several cookies of this name, which are no session together. */
  readonly token: string
}

/** Matches an origin on which browsers may not keep secure cookies. */
const LOCAL = /^http:\/\/(?:localhost|127\.0\.0\.1)(?::\d{1,5})?$/

const isLocal = (origin: string | undefined): boolean => origin !== undefined && LOCAL.test(origin)

/** Returns the origin of the page that sends a request; without `Origin`, that of the host to which it is sent. */
function originOf(request: Sent): string | undefined {
  const origin = request.header('origin')
  if (origin !== undefined) return origin
  const host = request.header('host')
  return host === undefined ? request.ownOrigin : `http://${host}`
}

/** Returns where a request wants its session to be, in lower case; `undefined` if it does not say so. */
const preferenceOf = (request: Sent): string | undefined =>
  readPreference(request.header('prefer') ?? '', 'session')?.toLowerCase()

/**
 * Returns the cookie of a request; `undefined` if it has none, or prefers a token. The name without its prefix is read
 * only if the prefixed cookie is not there, and only from a local origin: any other could have got it from a page of
 * another subdomain.
 */
export function readCookie({ name, bare }: CookiePlan, request: Sent): SentCookie | undefined {
  const header = request.header('cookie')
  if (header === undefined || preferenceOf(request) === 'token') return undefined
  const found = findCookie(header, name)
  if (found || name === bare || !isLocal(originOf(request))) return found
  return findCookie(header, bare)
}

function findCookie(header: string, name: string): SentCookie | undefined {
  const begin = `${name}=`
  // `trim` would also remove characters with which other subdomains can set a name that only looks like this one.
  const [first, ...others] = header
    .split(/;[ \t]*/)
    .flatMap((pair) => (pair.startsWith(begin) ? [pair.slice(begin.length)] : []))
  if (first === undefined) return undefined
  return { name, token: others.length > 0 ? '' : first }
}

/** Methods that change nothing, so that a page of another site gains nothing by sending them. */
const SAFE: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/** Whether a request that only a cookie identifies comes from another site, or may come from one. */
export function isCrossSite(
  { origins }: CookiePlan,
  request: Sent & Pick<IncomingRequest, 'method'>,
): boolean {
  if (SAFE.includes(request.method)) return false
  const [origin, site] = [request.header('origin'), request.header('sec-fetch-site')]
  if (origin !== undefined && origins.has(origin)) return false
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return origin === undefined || origin === 'null' || origin !== request.ownOrigin
}

/** Whether a request that begins a session asks for its token in a cookie. */
function asksForCookie({ origins }: CookiePlan, request: Sent): boolean {
  const preferred = preferenceOf(request)
  if (preferred === 'cookie' || preferred === 'token') return preferred === 'cookie'
  return request.header('sec-fetch-site') === 'same-origin' || origins.has(request.header('origin') ?? '')
}

/**
 * Returns the header that stores a new session in a cookie; `undefined` if the request gets its token in the body.
 * `renewed` is the cookie that identified the request: the new session replaces the one in it.
 */
export function issueCookie(
  plan: CookiePlan,
  { request, renewed }: { readonly request: Sent; readonly renewed: Pick<SentCookie, 'name'> | undefined },
  { token, expiresAt }: IssuedSession,
  now: number,
): string | undefined {
  if (!renewed && !asksForCookie(plan, request)) return undefined
  const name = renewed?.name ?? (isLocal(request.header('origin')) ? plan.bare : plan.name)
  const seconds = Math.max(0, Math.floor((Date.parse(expiresAt) - now) / 1000))
  return writeCookie(plan, { name, token }, seconds, request)
}

/** Returns the header that removes the cookie of a request. */
export const clearCookie = (plan: CookiePlan, { name }: Pick<SentCookie, 'name'>, request: Sent): string =>
  writeCookie(plan, { name, token: '' }, 0, request)

function writeCookie(plan: CookiePlan, { name, token }: SentCookie, seconds: number, request: Sent): string {
  // The name without its prefix is that of a local page, or the only one: then the origin decides.
  const isSecure = name !== plan.bare || !isLocal(request.header('origin'))
  return `${name}=${token}; HttpOnly; ${isSecure ? 'Secure; ' : ''}SameSite=${plan.sameSite}; Path=${plan.path}; Max-Age=${seconds}`
}
