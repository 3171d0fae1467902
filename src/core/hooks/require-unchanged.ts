import type { Collection } from '../config/plan.js'
import { isId } from '../filter/filter.js'
import type { Call } from '../request/call.js'

/**
 * Makes all writes of this call fail if another request changes a document, or creates one that is absent, before they
 * take effect.
 */
export async function requireUnchanged({ store }: Call, { name }: Collection, id: string): Promise<void> {
  await store.write(async () => {
    const stored = await store.own(name).find(id)
    const step = stored ? { require: id, version: stored._version } : { refuse: isId(id) }
    return { steps: [{ in: name, ...step }], done: undefined }
  })
}
