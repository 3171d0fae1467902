import type { StorageAdapter } from '../../storage.js'

/** A new, empty place for documents. */
export interface TestStorage {
  /**
   * Creates another adapter over the same place, in use at the same time. One that owns its place alone, as in
   * memory, gives the same adapter, which opens again after `close`.
   */
  connect(): StorageAdapter
  /**
   * Copies what the place holds; the result puts the copy in place of what is there by then, as a restored backup. Both
   * are called while no adapter is open. Without it, no case restores anything.
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
 * Runs a case in a new place, and removes the place.
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
  // Some runners end with the process, which what a case waits for need not keep alive.
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
