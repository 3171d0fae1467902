import type { CollectionOperation } from './description.js'
import type { Field } from './schema.js'

/** What one may do, in words. */
export const RIGHTS: { readonly [operation in CollectionOperation]: string } = {
  list: 'see',
  read: 'open',
  create: 'add',
  update: 'change',
  delete: 'delete',
}

/** An operator in words, for a field of this kind. */
export function describeOperator(operator: string, kind: Field['kind']): string {
  const isTime = kind === 'time' || kind === 'date'
  const words: { readonly [operator: string]: string } = {
    $eq: 'is',
    $ne: 'is not',
    $gt: isTime ? 'is after' : 'is more than',
    $gte: isTime ? 'is from … on' : 'is at least',
    $lt: isTime ? 'is before' : 'is less than',
    $lte: isTime ? 'is until' : 'is at most',
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

/** What a route below `/auth` does, in words: its heading, and its button. */
export const FORMS: { readonly [name: string]: readonly [heading: string, button: string, about: string] } = {
  login: ['Sign in', 'Sign in', ''],
  register: ['Register', 'Create account', ''],
  'change-secret': ['Change your password', 'Change it', 'All your other sessions end.'],
  'request-reset': [
    'Forgotten your password?',
    'Send a code',
    'If there is such an account, a code is on its way to its owner.',
  ],
  reset: ['Set a new password', 'Set it', 'With the code that was sent to you.'],
  'request-verification': ['Ask for a code again', 'Send a code', 'To show that the address is yours.'],
  verify: ['Confirm your address', 'Confirm', 'With the code that was sent to you, and your password.'],
  'change-identifier': [
    'Change the address of the account',
    'Send a code there',
    'A code goes to the new address; the old one holds until you confirm.',
  ],
}

/** What a field of these forms is called where a person has to know; `undefined` for its own name. */
export function describeField(
  form: string,
  { name, kind }: Pick<Field, 'name' | 'kind'>,
): string | undefined {
  // What one registers with are fields of the account.
  if (form === 'register') return undefined
  if (name === 'new') return kind === 'secret' ? 'new password' : 'new address'
  return name === 'current' ? 'present password' : name === 'token' ? 'code' : undefined
}

/** What an answer to a question means: 412 and 404 come behind the right, and nothing was done. */
export const describeAnswer = (status: number): string =>
  status === 412 || status === 404 ? 'you may' : status === 0 ? 'no answer' : 'you may not'

/** What an answer means, for people. */
export function describeStatus(status: number): string {
  if (status === 0) return 'no answer'
  if (status < 300) return 'done'
  if (status === 304) return 'unchanged'
  const words: { readonly [status: number]: string } = {
    400: 'not as it should be',
    401: 'not signed in',
    403: 'not allowed',
    404: 'not there',
    409: 'in the way of something else',
    412: 'changed meanwhile',
    413: 'too large',
    429: 'too many attempts',
    503: 'busy, or away',
  }
  return words[status] ?? 'refused'
}

/** `1 document`, `12 documents`. */
export const count = (n: number, one: string, many = `${one}s`): string =>
  `${n.toLocaleString('en')} ${n === 1 ? one : many}`
