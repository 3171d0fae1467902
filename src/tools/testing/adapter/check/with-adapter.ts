import type { CollectionPlan, StorageAdapter } from '../../../../core/storage.js'
import type { AdapterCase, TestStorage } from '../adapter-case.js'

/** Opens several adapters for one storage, calls `run`, and always closes the adapters. */
export async function withAdapters(
  storage: TestStorage,
  count: number,
  plans: readonly CollectionPlan[],
  run: (adapters: readonly StorageAdapter[]) => Promise<void>,
): Promise<void> {
  const adapters = Array.from({ length: count }, () => storage.connect())
  // For a storage in memory, all adapters are the same object.
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

/** Opens one adapter, calls `run`, and always closes the adapter. */
export const withAdapter = (
  storage: TestStorage,
  plans: readonly CollectionPlan[],
  run: (adapter: StorageAdapter) => Promise<void>,
): Promise<void> =>
  withAdapters(storage, 1, plans, async ([adapter]) => {
    if (adapter) await run(adapter)
  })

/** Opens two adapters for one storage, calls `run`, and always closes the adapters. */
export const withTwo = (
  storage: TestStorage,
  plans: readonly CollectionPlan[],
  run: (first: StorageAdapter, second: StorageAdapter) => Promise<void>,
): Promise<void> =>
  withAdapters(storage, 2, plans, async ([first, second]) => {
    if (first && second) await run(first, second)
  })

/** Creates a case that runs with one adapter. */
export const adapterCase = (
  name: string,
  plans: readonly CollectionPlan[],
  run: (adapter: StorageAdapter) => Promise<void>,
): AdapterCase => ({ name, run: (storage) => withAdapter(storage, plans, run) })

/** Creates a case that runs with two adapters for one storage. */
export const pairCase = (
  name: string,
  plans: readonly CollectionPlan[],
  run: (first: StorageAdapter, second: StorageAdapter) => Promise<void>,
): AdapterCase => ({ name, run: (storage) => withTwo(storage, plans, run) })
