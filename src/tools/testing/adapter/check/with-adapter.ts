import type { CollectionPlan, StorageAdapter } from '../../../../core/storage.js'
import type { TestStorage } from '../adapter-case.js'

/** Opens some adapters for one storage, runs `use`, and always closes them. */
export async function withAdapters(
  storage: TestStorage,
  count: number,
  plans: readonly CollectionPlan[],
  run: (adapters: readonly StorageAdapter[]) => Promise<void>,
): Promise<void> {
  const adapters = Array.from({ length: count }, () => storage.connect())
  // In memory both are the same adapter.
  const distinct = [...new Set(adapters)]
  try {
    for (const adapter of distinct) await adapter.open(plans)
    await run(adapters)
  } catch (thrown) {
    await Promise.allSettled(distinct.map((adapter) => adapter.close()))
    throw thrown
  }
  for (const adapter of distinct) await adapter.close()
}

/** Opens one adapter, runs `use`, and always closes it. */
export const withAdapter = (
  storage: TestStorage,
  plans: readonly CollectionPlan[],
  run: (adapter: StorageAdapter) => Promise<void>,
): Promise<void> =>
  withAdapters(storage, 1, plans, async ([adapter]) => {
    if (adapter) await run(adapter)
  })

/** Opens two adapters for one storage, runs `use`, and always closes them. */
export const withTwo = (
  storage: TestStorage,
  plans: readonly CollectionPlan[],
  run: (first: StorageAdapter, second: StorageAdapter) => Promise<void>,
): Promise<void> =>
  withAdapters(storage, 2, plans, async ([first, second]) => {
    if (first && second) await run(first, second)
  })
