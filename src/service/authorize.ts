import type { Collection } from '../config/plan.js'
import { ServiceError } from '../errors.js'
import type { KnownCaller } from '../permissions/caller.js'
import type { Rule } from '../permissions/grants.js'
import type { ReadAccess } from '../permissions/read-gate.js'
import { selectWriteRules } from '../permissions/write-rules.js'
import { USERS } from '../schema/names.js'
import { isAccounts, type ServiceContext } from './context.js'

/** CONTRACT.md §5, "Denied": nobody signed in, or somebody who may not. */
export const denied = (caller: KnownCaller | null): ServiceError =>
  caller === null
    ? new ServiceError('unauthenticated', 'Sign in to do this.')
    : new ServiceError('forbidden', 'You may not do this.')

/** A `check` that failed, or a `set` that cannot be: for everyone the same (CONTRACT.md §5). */
export const refused = (): ServiceError => new ServiceError('forbidden', 'You may not store such a document.')

export const notFound = (detail = 'There is nothing here.'): ServiceError =>
  new ServiceError('not_found', detail)

/** What a request says of the document's state does not hold. */
export const unexpected = (): ServiceError =>
  new ServiceError('precondition_failed', 'The document is not in the state that the request expects.')

/** What a caller may read of a collection; `null` for nothing. */
export const gateOf = (
  context: ServiceContext,
  collection: Collection,
  caller: KnownCaller | null,
): ReadAccess | null => context.gates.get(collection.name)?.(caller, context.clock) ?? null

/** The access with which to list or count. Throws `unauthenticated` or `forbidden`. */
export function authorizeList(
  context: ServiceContext,
  collection: Collection,
  caller: KnownCaller | null,
): ReadAccess {
  const access = gateOf(context, collection, caller)
  if (!access) throw denied(caller)
  return access
}

/**
 * The access with which to read one document. Throws `unauthenticated` for an anonymous caller whom `*` does not let
 * read, whether or not the document exists, and `not_found` for anyone else without a grant.
 */
export function authorizeRead(
  context: ServiceContext,
  collection: Collection,
  caller: KnownCaller | null,
): ReadAccess {
  const access = gateOf(context, collection, caller)
  if (!access) throw caller === null ? denied(caller) : notFound()
  return access
}

/** Whether strangers may not create here, whatever the rules say: it would be a registration (CONTRACT.md §4). */
export const isClosedTo = (
  context: ServiceContext,
  collection: Collection,
  caller: KnownCaller | null,
): boolean => caller === null && isAccounts(context, collection) && !context.plan.auth?.register

/** The rules under which to create. Throws `unauthenticated` or `forbidden`. */
export function authorizeCreate(
  context: ServiceContext,
  collection: Collection,
  caller: KnownCaller | null,
): readonly Rule[] {
  if (isClosedTo(context, collection, caller)) throw registrationClosed()
  const rules = selectWriteRules(collection.permissions.create, caller)
  if (rules.length === 0) throw denied(caller)
  return rules
}

/**
 * The rules under which to create with an `_id` of the client's choice. Throws `unauthenticated` or `forbidden`, and
 * `forbidden` for everyone on `users`: an `_id` is who somebody is, and not to be chosen.
 */
export function authorizeClaim(
  context: ServiceContext,
  collection: Collection,
  caller: KnownCaller | null,
): readonly Rule[] {
  const rules = authorizeCreate(context, collection, caller)
  if (collection.name === USERS) throw idGiven()
  return rules
}

/**
 * The rules under which to change or delete a document; none where only the document decides between 404 and 403.
 * Throws `unauthenticated` for an anonymous caller whom `*` does not grant the operation.
 */
export function authorizeWrite(
  collection: Collection,
  operation: 'update' | 'delete',
  caller: KnownCaller | null,
): readonly Rule[] {
  const rules = selectWriteRules(collection.permissions[operation], caller)
  if (rules.length === 0 && caller === null) throw denied(caller)
  return rules
}

const idGiven = (): ServiceError => new ServiceError('forbidden', 'An account gets its _id from the service.')

export const registrationClosed = (): ServiceError => new ServiceError('forbidden', 'Registration is closed.')
