import type { WriteStep } from '../../../storage.js'
import type { Connection } from '../connection/connection.js'

/** What this process writes from a moment on; other processes are noticed, but not what they write. */
export interface Watch {
  /** The ids of what was written to a collection, or was to be. */
  written(collection: string): Iterable<string>
  /** Whether no other process has written since. Asked inside a transaction. */
  holds(): boolean
  end(): void
}

/** Those who watch what is written. */
export interface Watches {
  /** `running`: the steps of a transaction that is open. */
  begin(running: Iterable<readonly WriteStep[]>): Watch
  /** Said of all steps of a write, before the first of them. */
  tell(steps: readonly WriteStep[]): void
}

export function createWatches(connection: Connection): Watches {
  const all = new Set<(steps: readonly WriteStep[]) => void>()
  // Another number for each commit of another connection.
  const readVersion = (): unknown => connection.first('PRAGMA data_version', [])
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
      const version = readVersion()
      return {
        written: (collection) => ids.get(collection) ?? [],
        holds: () => readVersion() === version,
        end: () => void all.delete(note),
      }
    },
    tell(steps) {
      for (const note of all) note(steps)
    },
  }
}
