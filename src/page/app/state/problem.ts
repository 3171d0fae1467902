import { isClientError } from '../../../client/client.js'
import type { Fault } from '../model/draft.js'

const WORDS: { readonly [code: string]: string } = {
  invalid_credentials: 'That is not right. Please look at both again.',
  unauthenticated: 'Please sign in first.',
  invalid_token: 'Your session has ended.',
  forbidden: 'You may not do this.',
  not_found: 'It is not there, or not for you to see.',
  precondition_failed: 'It was changed meanwhile.',
  internal_error: 'Something went wrong inside the service.',
  outcome_unknown: 'It may have been done: look before you try again.',
}

/** What went wrong, in a sentence or two: the service's own, and what to do. */
export function explain(thrown: unknown): string {
  if (!isClientError(thrown))
    return thrown instanceof TypeError
      ? 'The service cannot be reached. What you wrote is still here: try again.'
      : String(thrown instanceof Error ? thrown.message : thrown)
  const { code, detail, retryAfter, requestId } = thrown
  const own = WORDS[code]
  const later = retryAfter ? ` Try again ${describePause(retryAfter)}.` : ''
  const name = code === 'internal_error' && requestId ? ` Its log has more under ${requestId}.` : ''
  return `${own ?? detail}${later}${name}`
}

const describePause = (seconds: number): string =>
  seconds < 120 ? `in ${seconds} seconds` : `in ${Math.ceil(seconds / 60)} minutes`

/** The faults of a body, each with the pointer to its place. */
export const faultsOf = (thrown: unknown): readonly Fault[] =>
  isClientError(thrown) ? thrown.errors.map(({ path, message }) => ({ path, message })) : []

/** Whether a request was given up by the page itself. */
export const isAborted = (thrown: unknown): boolean =>
  thrown instanceof DOMException && thrown.name === 'AbortError'

/** Whether the answer has this code. */
export const hasCode = (thrown: unknown, ...codes: readonly string[]): boolean =>
  isClientError(thrown) && codes.includes(thrown.code)
