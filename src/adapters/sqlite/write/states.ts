import type { WriteStep } from '../../../core/storage.js'
import type { Connection } from '../connection/connection.js'
import { readDataVersion } from '../connection/data-version.js'
import type { WriteListener } from './write-queue.js'

/** Texts that identify the content of collections (see `StorageAdapter.state`). */
export interface States extends Pick<WriteListener, 'tookEffect' | 'failed'> {
  /** `undefined` if the file cannot be read: reads report why. */
  find(collections: readonly string[]): string | undefined
}

/** Distinguishes the files that one process opens, because each counts from zero. */
let opened = 0

/**
 * Creates the states of a connection's file. Its own writes are counted per collection; commits of other connections
 * change a number of the file.
 */
export function createStates(connection: Connection): States {
  opened += 1
  const name = opened
  const written = new Map<string, number>()
  /** The number of failures whose outcome is unknown. */
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
