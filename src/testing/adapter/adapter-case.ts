import type { StorageAdapter } from '../../storage.js'

/** A new, empty place to store. */
export interface TestStorage {
  /**
   * Another adapter over the same place, at once with others. For one that owns its place alone, as in memory, the same
   * adapter, which opens again after `close`.
   */
  connect(): StorageAdapter
  /** Called when the test is over and all adapters are closed. */
  destroy?(): Promise<void>
}

/** One thing that every adapter must do. `run` throws an `Error` that says what it does instead. */
export interface AdapterCase {
  readonly name: string
  run(storage: TestStorage): Promise<void>
}

/** Runs a case in a new place, and removes the place. */
export async function runCase(
  { run }: AdapterCase,
  createStorage: () => Promise<TestStorage>,
): Promise<void> {
  const storage = await createStorage()
  try {
    await run(storage)
  } finally {
    await storage.destroy?.()
  }
}
