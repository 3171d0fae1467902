import type { ServiceOptions } from '../types.js'

type Headers = { readonly [name: string]: string }

const NONE: Headers = {}

/** The response headers that pages of other origins may read. */
const EXPOSED = [
  'ETag',
  'Link',
  'Next-Cursor',
  'Next-Skip',
  'Location',
  'X-Total-Count',
  'Ignored-Properties',
  'Preference-Applied',
  'Retry-After',
].join(', ')

/** The request headers that pages of other origins may send, in addition to those that the host names. */
const ALLOWED: readonly string[] = [
  'Authorization',
  'Content-Type',
  'If-Match',
  'If-None-Match',
  'Last-Event-ID',
  'Prefer',
  // Sent by clients with a cache.
  'Cache-Control',
  'Pragma',
  'Expires',
  // Sent by tracers (W3C Trace Context, Baggage).
  'traceparent',
  'tracestate',
  'baggage',
]

/** Creates the headers that let pages of other origins read responses. */
export interface Cors {
  /** Returns the headers of a response to a page of `origin`. */
  answer(origin: string | undefined): Headers
  /** Returns the headers of the response to a preflight (OPTIONS) request. */
  preflight(origin: string | undefined, allow: string): Headers
  /** Whether responses differ between origins. */
  readonly varies: boolean
}

/**
 * Compiles the option `cors`; returns `undefined` if no other origin may read responses. `trusted` are the origins
 * whose pages may use the cookie of sessions: only they may send credentials.
 */
export function createCors(
  cors: ServiceOptions['cors'],
  trusted: ReadonlySet<string> | undefined,
): Cors | undefined {
  const { origins = [], headers = [] } = cors ?? {}
  if (origins.length === 0) return undefined
  const allowedHeaders = [...ALLOWED, ...headers].join(', ')
  const allowed = (origin: string | undefined): string | undefined => {
    if (origin === undefined) return undefined
    if (origins === '*') return '*'
    return origins.includes(origin) ? origin : undefined
  }
  return {
    answer(origin) {
      if (origin !== undefined && trusted?.has(origin))
        return {
          'access-control-allow-origin': origin,
          'access-control-allow-credentials': 'true',
          'access-control-expose-headers': EXPOSED,
        }
      const allow = allowed(origin)
      if (allow === undefined) return NONE
      return { 'access-control-allow-origin': allow, 'access-control-expose-headers': EXPOSED }
    },
    preflight(origin, allow) {
      if (allowed(origin) === undefined) return NONE
      return {
        'access-control-allow-methods': allow,
        'access-control-allow-headers': allowedHeaders,
        'access-control-max-age': '600',
      }
    },
    varies: origins !== '*' || (trusted !== undefined && trusted.size > 0),
  }
}
