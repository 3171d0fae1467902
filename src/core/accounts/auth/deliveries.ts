import { and, type FieldRef, type Filter, isId } from '../../filter/filter.js'
import type { CollectionPlan, StoredDocument, WriteStep } from '../../storage.js'
import { EXPIRES_AT, readLiving } from './sessions.js'

/** The name of the internal collection of delivered tokens. */
export const DELIVERIES = '_deliveries'

const USER: FieldRef = { path: 'user', type: 'string', each: false }
const KIND: FieldRef = { path: 'kind', type: 'string', each: false }

/** The plan of the collection of delivered tokens. The `_id` of a document is the digest of its token. */
export const DELIVERIES_PLAN: CollectionPlan = {
  name: DELIVERIES,
  indexes: [
    { fields: [USER], unique: false },
    { fields: [EXPIRES_AT], unique: false },
  ],
}

/** The purpose of a delivered token. */
export type TokenKind = 'reset' | 'verification' | 'new-identifier'

const KINDS: readonly string[] = ['reset', 'verification', 'new-identifier'] satisfies TokenKind[]

/** A delivered token as it is stored. */
export interface DeliveredToken {
  /** The digest of the token. */
  readonly _id: string
  readonly kind: TokenKind
  readonly user: string
  /** The identifier to which the token was delivered, in stored form. */
  readonly to: string
  /** The user's stamp when the token was created. */
  readonly stamp: string
}

/** Reads a stored token; returns `undefined` if it has expired at `now`. */
export function readDelivered(stored: StoredDocument, now: number): DeliveredToken | undefined {
  const token = readLiving(stored, ['kind', 'user', 'to', 'stamp'], now)
  return token && isKind(token.kind) ? { ...token, _id: stored._id, kind: token.kind } : undefined
}

const isKind = (kind: string): kind is TokenKind => KINDS.includes(kind)

/** Whether a token is still valid for the current identifier and stamp of its account (CONTRACT.md §4, "Delivery"). */
export function isBound(
  { kind, to, stamp }: DeliveredToken,
  account: { readonly identifier: unknown; readonly stamp: string },
): boolean {
  switch (kind) {
    case 'reset':
      return account.identifier === to && account.stamp === stamp
    case 'verification':
      return account.identifier === to
    case 'new-identifier':
      return account.stamp === stamp
    default:
      return kind satisfies never
  }
}

/** Returns the steps that delete a used token, and all other tokens of the same kind for the same account. */
export const useUp = ({ _id, kind, user }: DeliveredToken): readonly WriteStep[] => [
  { in: DELIVERIES, remove: isId(_id), expect: 1 },
  { in: DELIVERIES, remove: and([deliveredTo(user), { kind: 'eq', field: KIND, value: kind }]) },
]

/** Matches the tokens that were delivered for an account. */
export const deliveredTo = (userId: string): Filter => ({ kind: 'eq', field: USER, value: userId })
