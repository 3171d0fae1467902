import type { Collection } from '../config/plan.js'
import type { Rule } from '../permissions/grants.js'
import type { ReadAccess } from '../permissions/read-gate.js'
import { selectWriteRules } from '../permissions/write-rules.js'
import { USERS } from '../schema/names.js'
import type { Call } from './call.js'
import { denied, idGiven, notFound, registrationClosed } from './refusals.js'

/** Under which rules a caller may write to a collection. */
export interface Permit {
  readonly collection: Collection
  readonly rules: readonly Rule[]
}

/** The access with which to list or count. Throws `unauthenticated` or `forbidden`. */
export function authorizeList(call: Call, collection: Collection): ReadAccess {
  const access = call.access(collection)
  if (!access) throw denied(call.caller)
  return access
}

/**
 * The access with which to read one document. Throws `unauthenticated` for an anonymous caller whom `*` does not let
 * read, whether or not the document exists, and `not_found` for anyone else without a grant.
 */
export function authorizeRead(call: Call, collection: Collection): ReadAccess {
  const access = call.access(collection)
  if (!access) throw call.caller === null ? denied(null) : notFound()
  return access
}

/** Whether strangers may not create here, whatever the rules say: it would be a registration (CONTRACT.md §4). */
export const isClosedTo = ({ caller, service: { accounts } }: Call, collection: Collection): boolean =>
  caller === null && accounts?.users === collection && !accounts.register

/** The permit to create. Throws `unauthenticated` or `forbidden`. */
export function authorizeCreate(call: Call, collection: Collection): Permit {
  if (isClosedTo(call, collection)) throw registrationClosed()
  const rules = selectWriteRules(collection.permissions.create, call.caller)
  if (rules.length === 0) throw denied(call.caller)
  return { collection, rules }
}

/**
 * The permit to create with an `_id` of the client's choice. Throws `unauthenticated` or `forbidden`, and `forbidden`
 * for everyone on `users`: an `_id` is who somebody is, and not to be chosen.
 */
export function authorizeClaim(call: Call, collection: Collection): Permit {
  const permit = authorizeCreate(call, collection)
  if (collection.name === USERS) throw idGiven()
  return permit
}

/**
 * The permit to change or delete a document; without any rule where only the document decides between 404 and 403.
 * Throws `unauthenticated` for an anonymous caller whom `*` does not grant the operation.
 */
export function authorizeWrite(
  { caller }: Call,
  collection: Collection,
  operation: 'update' | 'delete',
): Permit {
  const rules = selectWriteRules(collection.permissions[operation], caller)
  if (rules.length === 0 && caller === null) throw denied(caller)
  return { collection, rules }
}

/** Throws `forbidden` where strangers may not register. */
export function authorizeRegistration({ service: { accounts } }: Call): void {
  if (!accounts?.register) throw registrationClosed()
}
