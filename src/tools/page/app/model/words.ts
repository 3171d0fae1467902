import type { Field } from './schema.js'

/** For each route below `/auth`, the texts of its form: a heading, a button, and a hint. */
export const FORMS: { readonly [name: string]: readonly [heading: string, button: string, about: string] } = {
  login: ['Sign in', 'Sign in', ''],
  register: ['Register', 'Create account', ''],
  'change-secret': ['Change your password', 'Change password', 'All your other sessions end.'],
  'request-reset': [
    'Forgot your password?',
    'Send a code',
    'If the account exists, a code is sent to its owner.',
  ],
  reset: ['Set a new password', 'Set password', 'Use the code that was sent to you.'],
  'request-verification': ['Request a new code', 'Send a code', 'To confirm your address.'],
  verify: ['Confirm your address', 'Confirm', 'Use the code that was sent to you, and your password.'],
  'change-identifier': [
    'Change your address',
    'Send a code',
    'A code is sent to the new address; the old one stays valid until you confirm.',
  ],
}

/** Returns the label of a field in an account form; `undefined` if the label is the name of the field. */
export function describeField(
  form: string,
  { name, kind }: Pick<Field, 'name' | 'kind'>,
): string | undefined {
  // The fields of a registration are labelled with their names, as in the account.
  if (form === 'register') return undefined
  if (name === 'new') return kind === 'secret' ? 'new password' : 'new address'
  return name === 'current' ? 'current password' : name === 'token' ? 'code' : undefined
}

/**
 * Returns the label of an answer to a dry run. 412 and 404 mean that the operation is allowed, because permissions are
 * checked before the condition that makes the dry run fail.
 */
export const describeAnswer = (status: number): string =>
  status === 412 || status === 404 ? 'allowed' : status === 0 ? 'no answer' : 'not allowed'

/** Returns the label of an HTTP status. */
export function describeStatus(status: number): string {
  if (status === 0) return 'no answer'
  if (status < 300) return 'done'
  if (status === 304) return 'unchanged'
  const words: { readonly [status: number]: string } = {
    400: 'invalid',
    401: 'not signed in',
    403: 'not allowed',
    404: 'not found',
    409: 'conflict',
    412: 'has changed',
    413: 'too large',
    429: 'too many attempts',
    503: 'unavailable',
  }
  return words[status] ?? 'rejected'
}

/** Writes a number with its noun: `1 document`, `12 documents`. */
export const count = (n: number, one: string, many = `${one}s`): string =>
  `${n.toLocaleString('en')} ${n === 1 ? one : many}`
