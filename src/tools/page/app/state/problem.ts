import { isClientError } from '../../../../client/client.js'
import type { Fault } from '../model/draft.js'

const WORDS: { readonly [code: string]: string } = {
  invalid_credentials: 'The credentials are wrong. Please check them.',
  unauthenticated: 'Please sign in first.',
  invalid_token: 'Your session has ended.',
  forbidden: 'You may not do this.',
  not_found: 'Not found, or you may not see it.',
  precondition_failed: 'The document has changed since you opened it.',
  internal_error: 'Something went wrong inside the service.',
  outcome_unknown: 'The change may have been saved: check before you try again.',
}

/** Returns the message for an error in one or two sentences: a description, usually that of the service, and advice. */
export function explain(thrown: unknown): string {
  if (!isClientError(thrown))
    return thrown instanceof TypeError
      ? 'The service cannot be reached. Your input is still here: try again.'
      : String(thrown instanceof Error ? thrown.message : thrown)
  const { code, detail, retryAfter, requestId } = thrown
  const own = WORDS[code]
  const later = retryAfter ? ` Try again ${describePause(retryAfter)}.` : ''
  const name = code === 'internal_error' && requestId ? ` See ${requestId} in its log.` : ''
  return `${own ?? detail}${later}${name}`
}

const describePause = (seconds: number): string =>
  seconds < 120 ? `in ${seconds} seconds` : `in ${Math.ceil(seconds / 60)} minutes`

/** Returns the validation errors of a body, each with a JSON pointer to its value. */
export const faultsOf = (thrown: unknown): readonly Fault[] =>
  isClientError(thrown) ? thrown.errors.map(({ path, message }) => ({ path, message })) : []

/** Whether a request failed because the app itself has aborted it. */
export const isAborted = (thrown: unknown): boolean =>
  thrown instanceof DOMException && thrown.name === 'AbortError'

/** Whether an error is an error response with one of these codes. */
export const hasCode = (thrown: unknown, ...codes: readonly string[]): boolean =>
  isClientError(thrown) && codes.includes(thrown.code)
