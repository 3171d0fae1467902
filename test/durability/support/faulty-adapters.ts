import { isId } from '../../../src/core/filter/filter.js'
import type { StorageAdapter, StoredDocument, WriteStep } from '../../../src/index.js'

/** An adapter over another that does not look at the versions that a write requires. */
export const createBlindAdapter = (inner: StorageAdapter): StorageAdapter => ({
  ...inner,
  write: (steps, options) =>
    inner.write(
      steps.map((step) => ('require' in step ? { in: step.in, require: step.require } : step)),
      options,
    ),
})

/** An adapter over another that applies the last step of a write twice, where that moves a balance. */
export const createRepeatingAdapter = (inner: StorageAdapter): StorageAdapter => ({
  ...inner,
  async write(steps, options) {
    const last = steps.at(-1)
    const again = steps.length > 1 && last && 'replace' in last ? await moveAgain(inner, last) : undefined
    const result = await inner.write(steps, options)
    if (result.ok && again) await inner.write([again], options)
    return result
  },
})

type Replace = Extract<WriteStep, { readonly replace: StoredDocument }>

/** A step that moves the balance of a document by as much as another will. */
async function moveAgain(inner: StorageAdapter, step: Replace): Promise<WriteStep | undefined> {
  const { _id, _version, balance } = step.replace
  const [before] = await inner.list(step.in, { filter: isId(_id), sort: [], skip: 0, limit: 1 })
  const moved = Number(balance) - Number(before?.balance)
  if (moved === 0) return undefined
  const replace = { ...step.replace, _version: _version + 1, balance: Number(balance) + moved }
  return { in: step.in, replace, version: _version }
}
