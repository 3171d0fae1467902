import type { StorageAdapter } from '../../../core/storage.js'

/** A new, empty storage (a database, for example) for one test. */
export interface TestStorage {
  /**
   * Creates another adapter for the same storage. Several adapters are used at the same time. If a storage can have
   * only one adapter, as in memory, returns the same adapter each time; it must be possible to open it again after
   * `close`.
   */
  connect(): StorageAdapter
  /**
   * Copies the stored data, and returns a function that replaces the data with this copy, as restoring a backup does.
   * Both functions are called only while no adapter is open. If `backUp` is missing, cases that restore a backup pass
   * without testing anything.
   */
  backUp?(): Promise<() => Promise<void>>
  /** Called after the test, when all adapters are closed. */
  destroy?(): Promise<void>
}

/** One requirement for every adapter. `run` throws an `Error` that says how the adapter violates it. */
export interface AdapterCase {
  readonly name: string
  run(storage: TestStorage): Promise<void>
}

/**
 * Runs a case on a new storage, and removes the storage afterwards.
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
  // Keeps the event loop alive: some test runners end when it is empty, and pending promises do not keep it alive.
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
