import type { Collection } from '../config/plan.js'
import type { Call } from '../request/call.js'

/** Makes all writes of this call fail if another request changes a document before they take effect. */
export async function requireUnchanged({ store }: Call, { name }: Collection, id: string): Promise<void> {
  await store.write(async () => {
    const stored = await store.own(name).find(id)
    const steps = stored ? [{ in: name, require: id, version: stored._version }] : []
    return { steps, done: undefined }
  })
}
