import type { StorageAdapter, WriteResult, WriteStep } from '../../../../core/storage.js'
import { checkSame, print } from './check.js'

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

const shorten = (steps: readonly WriteStep[]): string => {
  const text = print(steps)
  return text.length > 600 ? `${text.slice(0, 600)}…` : text
}

export async function checkWrite(
  adapter: StorageAdapter,
  steps: readonly WriteStep[],
  expected: WriteResult,
): Promise<void> {
  const actual = plainResult(await adapter.write(steps, {}))
  checkSame(actual, plainResult(expected), () => `write of ${shorten(steps)}`)
}
