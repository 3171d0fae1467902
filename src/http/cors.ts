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

/** The request headers that such pages may send, beside those that the host names. */
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

/** The headers that let pages of other origins read responses, by `Origin`; never with credentials. */
export interface Cors {
  /** The headers of every response. */
  answer(origin: string | undefined): Headers
  /** The headers of the response to a preflight (OPTIONS). */
  preflight(origin: string | undefined, allow: string): Headers
  /** Whether responses depend on the origin. */
  readonly varies: boolean
}

/** Creates the headers of `cors`; `undefined` where no other origin may read responses. */
export function createCors(cors: ServiceOptions['cors']): Cors | undefined {
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
    varies: origins !== '*',
  }
}
