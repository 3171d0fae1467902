import type { WriteStep } from '../../../core/storage.js'
import type { Connection } from '../connection/connection.js'
import { readDataVersion } from '../connection/data-version.js'
import type { WriteListener } from './write-queue.js'

/** Creates strings that identify the current content of collections (see `StorageAdapter.state`). */
export interface States extends Pick<WriteListener, 'tookEffect' | 'failed'> {
  /** Returns `undefined` if the file cannot be read. The next read reports the reason. */
  find(collections: readonly string[]): string | undefined
}

/**
 * The number of files that this process has opened. Each file's states contain it, because the writes to each file are
 * counted from 0.
 */
let opened = 0

/**
 * Creates the states of a connection's file. Writes of this connection are counted per collection. Commits of other
 * connections change the file's data version, and so the states of all collections.
 */
export function createStates(connection: Connection): States {
  opened += 1
  const name = opened
  const written = new Map<string, number>()
  /** The number of transactions that failed, or whose outcome is unknown. */
  let failures = 0
  return {
    find(collections) {
      try {
        const others = readDataVersion(connection)
        return `${name} ${failures} ${others} ${collections.map((one) => written.get(one) ?? 0)}`
      } catch {
        return undefined
      }
    },
    tookEffect(steps: readonly WriteStep[]) {
      for (const name of new Set(steps.map((step) => step.in)))
        written.set(name, (written.get(name) ?? 0) + 1)
    },
    failed() {
      failures += 1
    },
  }
}
