import type { Collection } from '../config/plan.js'
import type { Call } from '../request/call.js'

/** Makes the writes that take effect with this call depend on a document: they fail if it changes before. */
export async function requireUnchanged({ store }: Call, { name }: Collection, id: string): Promise<void> {
  await store.write(async () => {
    const stored = await store.own(name).find(id)
    const steps = stored ? [{ in: name, require: id, version: stored._version }] : []
    return { steps, done: undefined }
  })
}
