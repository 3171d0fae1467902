import type { StorageAdapter } from '../../../core/storage.js'

/** A new, empty storage for one test. */
export interface TestStorage {
  /**
   * Creates another adapter for the same storage, which is used at the same time. A storage with a single adapter, as in
   * memory, returns the same adapter, which opens again after `close`.
   */
  connect(): StorageAdapter
  /**
   * Copies the stored data; the result replaces the data by that copy, as a restored backup. Both are called while no
   * adapter is open. Without it, no case restores a backup.
   */
  backUp?(): Promise<() => Promise<void>>
  /** Called when the test is over and all adapters are closed. */
  destroy?(): Promise<void>
}

/** One requirement for every adapter. `run` throws an `Error` that says what the adapter does instead. */
export interface AdapterCase {
  readonly name: string
  run(storage: TestStorage): Promise<void>
}

/**
 * Runs a case on a new storage, and removes the storage.
 *
 * @example
 * ```ts
 * for (const testCase of adapterCases) await runCase(testCase, createStorage)
 * ```
 */
export async function runCase(
  { run }: AdapterCase,
  createStorage: () => Promise<TestStorage>,
): Promise<void> {
  // Some runners end with the event loop, and the pending promises of a case do not keep it alive.
  const awake = setInterval(() => {}, 1000)
  try {
    const storage = await createStorage()
    try {
      await run(storage)
    } finally {
      await storage.destroy?.()
    }
  } finally {
    clearInterval(awake)
  }
}
