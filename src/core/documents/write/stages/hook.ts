import { unverify } from '../../../accounts/account.js'
import type { Collection } from '../../../config/plan.js'
import { isServiceError } from '../../../errors.js'
import { askHook, type SettledWrite } from '../../../hooks/where-hooked.js'
import type { Call } from '../../../request/call.js'
import { relocate } from '../../../request/refusals.js'
import type { StoredDocument } from '../../../storage.js'
import type { JsonObject } from '../../../types.js'
import type { Draft, Stage } from '../draft.js'
import { readSystem } from '../stored-document.js'

/** Calls the hook for a draft that its rule accepts. The hook may set properties and add operations. */
export const hook: Stage = {
  name: 'hook',
  settle(draft) {
    return askAbout(draft)?.then(
      ({ fields, behind }) => {
        draft.fields = fields
        draft.behind = behind
      },
      (thrown: unknown) => {
        const isRelocated = draft.at !== undefined && isServiceError(thrown) && thrown.code === 'refused'
        throw isRelocated ? relocate(thrown, draft.at) : thrown
      },
    )
  },
}

function askAbout({ call, collection, before, fields, system }: Draft): Promise<SettledWrite> | undefined {
  return before
    ? askUpdateHook(call, collection, before.stored, { fields, now: system.updatedAt })
    : askHook(call, { collection, before: null, after: { fields, system } })
}

/** Calls the hook of a collection for the next version of a document. `now` is the current time in stored form. */
export function askUpdateHook(
  call: Call,
  collection: Collection,
  stored: StoredDocument,
  { fields, now }: { readonly fields: JsonObject; readonly now: string },
): Promise<SettledWrite> | undefined {
  if (!call.service.hooks?.has(collection.name)) return undefined
  const system = readSystem(stored, now)
  const asking = askHook(call, { collection, before: stored, after: { fields, system } })
  const { accounts } = call.service
  if (!asking || accounts?.users.name !== collection.name) return asking
  return asking.then((settled) => ({ ...settled, fields: unverify(accounts, fields, settled.fields) }))
}
