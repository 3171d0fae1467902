import type { AuthPlan } from '../config/plan.js'
import { findAgain } from '../documents/write/written.js'
import { isSystemField, SYSTEM_FIELDS } from '../fields/schema/names.js'
import { whenReady } from '../promises.js'
import { Call } from '../request/call.js'
import type { StoredDocument } from '../storage.js'
import type { Document, JsonObject, MaybePromise } from '../types.js'
import { callerOf } from './account.js'

/**
 * Returns a user document with the fields that its owner may read, and always with `_id`, the identifier and the system
 * fields.
 */
export function showAccount(call: Call, auth: AuthPlan, user: StoredDocument): MaybePromise<Document> {
  const { service, deadline, store, binding } = call
  const parts = { deadline, store, session: undefined, now: binding.now }
  const own = new Call(service, { caller: callerOf(auth, user), ...parts })
  return whenReady(own.learnToRead(auth.users), () => showTo(own, auth, user))
}

/** Reads the account of a result again, because operations that hooks added to the write may have changed it. */
export const showAgain =
  (auth: AuthPlan) =>
  async <T extends { readonly user: Document }>(call: Call, shown: T): Promise<T> => ({
    ...shown,
    user: await showAccount(call, auth, await findAgain(call, auth.users, shown.user._id)),
  })

function showTo(own: Call, auth: AuthPlan, user: StoredDocument): Document {
  const access = own.access(auth.users)
  const shown: JsonObject = access?.isReadable(user) ? access.show(user) : {}
  const always = [auth.identifier.name, ...SYSTEM_FIELDS]
  const declared = auth.users.fields.map(({ name }) => name)
  const others = Object.keys(shown).filter((name) => !isSystemField(name))
  const order = ['_id', ...declared, ...others, ...SYSTEM_FIELDS]
  const entries = [...new Set(order)].flatMap((name): [string, unknown][] => {
    if (Object.hasOwn(shown, name)) return [[name, shown[name]]]
    return always.includes(name) && Object.hasOwn(user, name) ? [[name, user[name]]] : []
  })
  return { _id: user._id, ...Object.fromEntries(entries) }
}
