import { stat } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'

/** The milliseconds between two polls of the files. */
const INTERVAL = 150

/** A watch that can be stopped. */
export interface Watching {
  /** Resolves when no call is running, and none will follow. */
  stop(): Promise<void>
}

/** The state of files as text: it differs after one was written, replaced or removed. */
export async function readState(files: readonly string[]): Promise<string> {
  const states = await Promise.all(
    files.map((file) =>
      stat(file, { bigint: true }).then(
        ({ ino, size, mtimeNs }) => `${ino} ${size} ${mtimeNs}`,
        () => 'none',
      ),
    ),
  )
  return states.join('\n')
}

/**
 * Calls back when files have changed, one call at a time. It polls the files by name: editors replace the old file by a
 * new one, and not every file system reports changes.
 */
export function watchFiles(
  files: readonly string[],
  before: string,
  onChange: () => Promise<void>,
): Watching {
  const ending = new AbortController()
  const { signal } = ending
  const look = async (): Promise<void> => {
    let [known, seen] = [before, before]
    while (!signal.aborted) {
      const state = await readState(files)
      // Two equal polls in a row: a write in several steps is complete.
      if (state !== known && state === seen) {
        known = state
        await onChange()
      }
      seen = state
      await wait(INTERVAL, undefined, { signal }).catch(() => {})
    }
  }
  const looking = look()
  return {
    async stop() {
      ending.abort()
      await looking
    },
  }
}
