import type { Collection } from '../../config/plan.js'
import type { Call } from '../call.js'

/** Lets what takes effect with this call depend on a document: it stays as it is until then. */
export async function requireUnchanged({ store }: Call, { name }: Collection, id: string): Promise<void> {
  await store.write(async () => {
    const stored = await store.own(name).find(id)
    const steps = stored ? [{ in: name, require: id, version: stored._version }] : []
    return { steps, done: undefined }
  })
}
