import { unverify } from '../../../accounts/account.js'
import type { Collection } from '../../../config/plan.js'
import { isServiceError } from '../../../errors.js'
import { askHook, type SettledWrite } from '../../../hooks/where-hooked.js'
import type { Call } from '../../../request/call.js'
import { relocate } from '../../../request/refusals.js'
import type { StoredDocument } from '../../../storage.js'
import type { JsonObject } from '../../../types.js'
import type { Stage } from '../draft.js'
import { readSystem } from '../stored-document.js'

/** Calls the hook for a draft that its rule accepts. The hook may set properties and add operations. */
export const hook: Stage = {
  name: 'hook',
  async settle(draft) {
    const { call, collection, before, fields, system, at } = draft
    try {
      const asked = before
        ? await askUpdateHook(call, collection, before.stored, { fields, now: system.updatedAt })
        : await askHook(call, { collection, before: null, after: { fields, system } })
      Object.assign(draft, asked)
    } catch (thrown) {
      const isRelocated = at !== undefined && isServiceError(thrown) && thrown.code === 'refused'
      throw isRelocated ? relocate(thrown, at) : thrown
    }
  },
}

/**
 * Calls the hook of a collection (if it has one) with the next version of a document. `now` is the current time in stored
 * form.
 */
export async function askUpdateHook(
  call: Call,
  collection: Collection,
  stored: StoredDocument,
  { fields, now }: { readonly fields: JsonObject; readonly now: string },
): Promise<SettledWrite> {
  const system = readSystem(stored, now)
  const asked = await askHook(call, { collection, before: stored, after: { fields, system } })
  const { accounts } = call.service
  if (!asked || accounts?.users.name !== collection.name) return asked ?? { fields }
  return { ...asked, fields: unverify(accounts, fields, asked.fields) }
}
