import type { Filter } from '../../../../core/filter/filter.js'
import type { StorageAdapter, StoredDocument, WriteResult, WriteStep } from '../../../../core/storage.js'
import { checkSame, print } from './check.js'

type Failure = Extract<WriteResult, { readonly ok: false }>

/** Returns a result without the properties that do not apply to it. */
export const plainResult = (result: WriteResult): unknown =>
  result.ok
    ? { ok: true, removed: result.removed }
    : {
        ok: false,
        step: result.step,
        reason: result.reason,
        ...(result.reason === 'unique' ? { fields: result.fields } : {}),
      }

/** The result of a write that removes nothing. */
export const done: WriteResult = { ok: true, removed: 0 }

/** Returns the result of a write that removes documents. */
export const removing = (removed: number): WriteResult => ({ ok: true, removed })

/** Returns the result of a write that is rejected. `fields` are those of the unique index that is taken. */
export const rejected = (step: number, reason: Failure['reason'], ...fields: readonly string[]): Failure => ({
  ok: false,
  step,
  reason,
  ...(reason === 'unique' ? { fields } : {}),
})

/** Creates the steps of writes to one collection. */
export const stepsIn = (name: string) => ({
  insert: (insert: StoredDocument): WriteStep => ({ in: name, insert }),
  replace: (replace: StoredDocument, version: number): WriteStep => ({ in: name, replace, version }),
  remove: (remove: Filter, expect?: number): WriteStep => ({
    in: name,
    remove,
    ...(expect === undefined ? {} : { expect }),
  }),
  require: (require: string, version?: number): WriteStep => ({
    in: name,
    require,
    ...(version === undefined ? {} : { version }),
  }),
  refuse: (refuse: Filter): WriteStep => ({ in: name, refuse }),
})

const shorten = (steps: readonly WriteStep[]): string => {
  const text = print(steps)
  return text.length > 600 ? `${text.slice(0, 600)}…` : text
}

/** Checks the result of a write. */
export async function checkWrite(
  adapter: StorageAdapter,
  steps: readonly WriteStep[],
  expected: WriteResult,
): Promise<void> {
  const actual = plainResult(await adapter.write(steps, {}))
  checkSame(actual, plainResult(expected), () => `write of ${shorten(steps)}`)
}
