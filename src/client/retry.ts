import type { ClientOptions } from './types.js'
import { pause, pauseAfter } from './waiting.js'
import { refuseOthers } from './write-query.js'

/** The options of `retry`. */
export interface RetryOptions {
  /** The function that sends a request. Default: the global `fetch`. */
  readonly fetch?: ClientOptions['fetch']
  /** The maximum number of times that a request is sent. Default: 5. */
  readonly attempts?: number
  /**
   * The longest pause between two attempts. An answer whose `Retry-After` asks for a longer one is returned. Default:
   * 30.
   */
  readonly pauseSeconds?: number
}

/** Answers of a service, or of a proxy, after which another attempt may succeed. */
const TEMPORARY = [408, 429, 502, 503, 504]

/**
 * Whether a request can be repeated although it may have taken effect: a read, a create that fails if the document
 * exists, and a write to one version of a document.
 */
function isRepeatable({ method = 'GET', headers, body }: RequestInit): boolean {
  const sent = new Headers(headers)
  // `If-Match: *` names no version, and has no quotes.
  const isSafe = /^(GET|HEAD)$/i.test(method) || /"/.test(sent.get('if-match') ?? '')
  // A stream can be sent only once.
  return (isSafe || sent.get('if-none-match') === '*') && (body == null || typeof body === 'string')
}

/** The milliseconds until the next attempt that an answer asks for; 0 if it does not. */
function findAsked(response: Response | undefined): number {
  const asked = response?.headers.get('retry-after') ?? ''
  return Number(asked) * 1000 || Math.max(Date.parse(asked) - Date.now(), 0) || 0
}

/**
 * Returns a `fetch` that repeats requests, for the option `fetch` of a client. It repeats a request that cannot take
 * effect twice (a GET, `If-None-Match: *`, `If-Match`) if no answer arrives, or if its status is 408, 429, 502, 503 or
 * 504. It waits as long as `Retry-After` says, and at least a random pause that doubles with each attempt, from half a
 * second on. A write that took effect although its answer was lost gets a 412 when it is repeated. The signal of a
 * request ends the pauses.
 *
 * @example
 * ```ts
 * const client = createClient<Collections>('https://example.com/api', { fetch: retry() })
 * ```
 */
export function retry({
  fetch: send,
  attempts = 5,
  pauseSeconds = 30,
  ...others
}: RetryOptions = {}): NonNullable<ClientOptions['fetch']> {
  refuseOthers(others)
  const longest = pauseSeconds * 1000
  return async (url, init = {}) => {
    const signal = init.signal ?? undefined
    const last = isRepeatable(init) ? attempts : 1
    for (let failures = 0; ; failures++) {
      let response: Response | undefined
      try {
        response = await (send ?? fetch)(url, init)
        if (!TEMPORARY.includes(response.status)) return response
      } catch (thrown) {
        if (failures + 1 >= last || signal?.aborted) throw thrown
      }
      const asked = findAsked(response)
      if (response) {
        if (failures + 1 >= last || asked > longest) return response
        await response.body?.cancel()
      }
      await pause(Math.max(Math.min(pauseAfter(failures), longest), asked), signal)
      signal?.throwIfAborted()
    }
  }
}
