import type { CollectionOperation } from './description.js'
import type { Field } from './schema.js'

/** Labels of the operations. */
export const RIGHTS: { readonly [operation in CollectionOperation]: string } = {
  list: 'see',
  read: 'open',
  create: 'add',
  update: 'change',
  delete: 'delete',
}

/** The label of an operator by the kind of a field. */
export function describeOperator(operator: string, kind: Field['kind']): string {
  const isTime = kind === 'time' || kind === 'date'
  const words: { readonly [operator: string]: string } = {
    $eq: 'is',
    $ne: 'is not',
    $gt: isTime ? 'is after' : 'is more than',
    $gte: isTime ? 'is at or after' : 'is at least',
    $lt: isTime ? 'is before' : 'is less than',
    $lte: isTime ? 'is at or before' : 'is at most',
    $in: 'is one of',
    $nin: 'is none of',
    $contains: 'contains',
    $regex: 'matches the pattern',
    $exists: 'has a value',
  }
  return words[operator] ?? operator
}

/** Operators in the order in which they are offered. */
export const OPERATORS: readonly string[] = [
  '$contains',
  '$eq',
  '$ne',
  '$gt',
  '$gte',
  '$lt',
  '$lte',
  '$in',
  '$nin',
  '$exists',
  '$regex',
]

/** The texts of a form for a route below `/auth`: its heading, its button, and a hint. */
export const FORMS: { readonly [name: string]: readonly [heading: string, button: string, about: string] } = {
  login: ['Sign in', 'Sign in', ''],
  register: ['Register', 'Create account', ''],
  'change-secret': ['Change your password', 'Change password', 'All your other sessions end.'],
  'request-reset': [
    'Forgot your password?',
    'Send a code',
    'If the account exists, a code is sent to its owner.',
  ],
  reset: ['Set a new password', 'Set password', 'With the code that was sent to you.'],
  'request-verification': ['Request a new code', 'Send a code', 'To confirm your address.'],
  verify: ['Confirm your address', 'Confirm', 'With the code that was sent to you, and your password.'],
  'change-identifier': [
    'Change your address',
    'Send a code',
    'A code is sent to the new address; the old one stays valid until you confirm.',
  ],
}

/** The label of a field in an account form; `undefined` for its own name. */
export function describeField(
  form: string,
  { name, kind }: Pick<Field, 'name' | 'kind'>,
): string | undefined {
  // The fields of a registration are fields of the account.
  if (form === 'register') return undefined
  if (name === 'new') return kind === 'secret' ? 'new password' : 'new address'
  return name === 'current' ? 'current password' : name === 'token' ? 'code' : undefined
}

/** The label of a dry run's answer: 412 and 404 come after the check of rights, and nothing is changed. */
export const describeAnswer = (status: number): string =>
  status === 412 || status === 404 ? 'allowed' : status === 0 ? 'no answer' : 'not allowed'

/** The label of an answer's status. */
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
    412: 'changed meanwhile',
    413: 'too large',
    429: 'too many attempts',
    503: 'unavailable',
  }
  return words[status] ?? 'rejected'
}

/** `1 document`, `12 documents`. */
export const count = (n: number, one: string, many = `${one}s`): string =>
  `${n.toLocaleString('en')} ${n === 1 ? one : many}`
