import type { WriteStep } from '../../../storage.js'
import type { Connection } from '../connection/connection.js'
import { readDataVersion } from '../connection/data-version.js'

/** Records the writes of this process from a moment on. Writes of other processes are detected, but not their ids. */
export interface Watch {
  /** The ids that were written to a collection, or may have been. */
  written(collection: string): Iterable<string>
  /** Whether no other process has written since. Called inside a transaction. */
  holds(): boolean
  end(): void
}

/** All current watches. */
export interface Watches {
  /** Begins a watch. `running` has the steps of an open transaction. */
  begin(running: Iterable<readonly WriteStep[]>): Watch
  /** Called with all steps of a write before the first is applied. */
  tell(steps: readonly WriteStep[]): void
}

/** Creates the watches of a connection. */
export function createWatches(connection: Connection): Watches {
  const all = new Set<(steps: readonly WriteStep[]) => void>()
  return {
    begin(running) {
      const ids = new Map<string, Set<string>>()
      const note = (steps: readonly WriteStep[]): void => {
        for (const step of steps) {
          const document = 'insert' in step ? step.insert : 'replace' in step ? step.replace : undefined
          if (!document) continue
          const known = ids.get(step.in) ?? new Set()
          ids.set(step.in, known.add(document._id))
        }
      }
      for (const steps of running) note(steps)
      all.add(note)
      const version = readDataVersion(connection)
      return {
        written: (collection) => ids.get(collection) ?? [],
        holds: () => readDataVersion(connection) === version,
        end: () => void all.delete(note),
      }
    },
    tell(steps) {
      for (const note of all) note(steps)
    },
  }
}
